package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// killWithin is the longest time from a worker's first answer to its death. A message takes some milliseconds.
const killWithin = 20 * time.Millisecond

// A tally is what became of an order's messages.
type tally struct{ messages, kills, again, lost, doubled int }

func (r *rig) killAll(ctx context.Context, kills, clients int) (string, error) {
	text := fmt.Sprintf("\nA process that handles %d messages at once, killed %d times for each order (SIGKILL, at a random moment). "+
		"What it did not acknowledge is delivered again:\n\n", clients, kills) +
		"| | messages | kills | delivered again | effects lost | effects doubled |\n|---|---:|---:|---:|---:|---:|\n"
	for _, order := range orders {
		t, err := r.killing(ctx, order, kills, clients)
		if err != nil {
			return "", fmt.Errorf("%s: %w", order.name, err)
		}
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", order.title, t.messages, t.kills, t.again, t.lost, t.doubled)
	}
	return text, nil
}

// killing is the queue: it has so many messages out at once, and forgets none before it was acknowledged.
func (r *rig) killing(ctx context.Context, o order, kills, clients int) (t tally, err error) {
	if err := errors.Join(r.stores.redis.ConfigSet(ctx, "appendfsync", "everysec").Err(), r.clear(ctx)); err != nil {
		return t, err
	}
	var again []string // to be delivered anew
	for t.kills < kills {
		again, err = r.life(ctx, o, clients, again, &t, rand.N(killWithin))
		if err != nil {
			return t, err
		}
		t.kills++
		t.again += len(again)
	}
	if err := r.redeliver(ctx, o, again); err != nil {
		return t, err
	}
	keys := make([]string, t.messages)
	for n := range keys {
		keys[n] = messageKey(n)
	}
	t.lost, t.doubled, err = r.count(ctx, keys)
	return t, err
}

func messageKey(n int) string { return "m" + strconv.Itoa(n) }

// life starts a worker, hands it the messages of again and then new ones, and kills it, so long after its first answer. It returns what
// was not acknowledged.
func (r *rig) life(ctx context.Context, o order, clients int, again []string, t *tally, length time.Duration) ([]string, error) {
	w, err := r.startWorker(ctx, o, clients)
	if err != nil {
		return nil, err
	}
	defer w.cmd.Process.Kill() //nolint:errcheck // it has ended, unless we leave by an error
	out := map[string]bool{}
	deliver := func() error {
		key := messageKey(t.messages)
		if len(again) > 0 {
			key, again = again[0], again[1:]
		} else {
			t.messages++
		}
		out[key] = true
		return w.send(key, lives)
	}
	for range clients {
		if err := deliver(); err != nil {
			return nil, err
		}
	}
	var moment <-chan time.Time
	for dead := false; ; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-moment:
			if err := w.cmd.Process.Kill(); err != nil {
				return nil, err
			}
			moment, dead = nil, true
		case key, open := <-w.acks:
			if !open {
				killed, err := w.end()
				if !killed || !dead {
					return nil, fmt.Errorf("the worker ended by itself: %w", err)
				}
				return append(again, slices.Sorted(maps.Keys(out))...), nil
			}
			delete(out, key)
			if dead {
				continue // it wrote that before
			}
			if moment == nil {
				moment = time.After(length)
			}
			if err := deliver(); err != nil {
				return nil, err
			}
		}
	}
}

// redeliver has a worker that lives handle the messages.
func (r *rig) redeliver(ctx context.Context, o order, keys []string) error {
	w, err := r.startWorker(ctx, o, max(1, len(keys))) // acks has room for all
	if err != nil {
		return err
	}
	for _, key := range keys {
		err = errors.Join(err, w.send(key, lives))
	}
	killed, endErr := w.end()
	if killed {
		endErr = errors.Join(endErr, errors.New("the worker was killed, by somebody else"))
	}
	return errors.Join(err, endErr)
}

// count tells how many of the messages have no effect, and how many more than one.
func (r *rig) count(ctx context.Context, keys []string) (lost, doubled int, err error) {
	err = r.postgres.Conn.QueryRow(ctx, `
		select count(*) filter (where effects = 0), count(*) filter (where effects > 1) from (
			select count(e.key) as effects from unnest($1::text[]) as m (key)
			left join bench.effect as e on e.key = m.key group by m.key) as per_message`,
		keys).Scan(&lost, &doubled)
	return lost, doubled, err
}
