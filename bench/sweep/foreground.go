package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/kvpg"
)

const (
	putClients = 4
	putKeys    = 20_000 // all there before the first put, so that each put replaces a value
	putShare   = 10     // the paced load is one so many-th of what the clients reach without a pace
	warmUp     = 3 * time.Second
	putAim     = 1.3 // the most that the p99 beside the sweep may be of the p99 without it
	memoryAim  = 30  // MiB
)

var puts = kvpg.NewNamespace("bench")

// A load is what a run of the foreground took: the time of each put in ms, in ascending order.
type load []float64

// at is the q-th quantile.
func (l load) at(q float64) float64 {
	return l[min(len(l)-1, max(0, int(math.Ceil(q*float64(len(l))))-1))]
}

// foreground measures puts without the sweeper and beside it while it drains, in turns.
func (b *bench) foreground(ctx context.Context) (string, error) {
	clients, err := b.clients(ctx)
	if err != nil {
		return "", err
	}
	defer func() {
		for _, c := range clients {
			_ = c.Close(context.WithoutCancel(ctx))
		}
	}()
	if err := b.fillPuts(ctx); err != nil {
		return "", err
	}
	if err := b.fillExpired(ctx, shuffled); err != nil {
		return "", err
	}
	most, err := putFor(ctx, clients, 0, time.After(warmUp))
	if err != nil {
		return "", err
	}
	rate := float64(len(most)) / warmUp.Seconds() / putShare

	var m foregroundRuns
	for pair := range b.sizes.pairs {
		sides := []bool{true, false}
		if pair%2 == 1 {
			slices.Reverse(sides)
		}
		for _, swept := range sides {
			if err := b.fillExpired(ctx, shuffled); err != nil {
				return "", err
			}
			if swept {
				err = b.beside(ctx, clients, rate, &m)
			} else {
				err = m.alone(ctx, clients, rate)
			}
			if err != nil {
				return "", err
			}
		}
	}
	if err := m.chart(b.plots); err != nil {
		return "", err
	}
	return m.table(rate, float64(len(most))/warmUp.Seconds(), b.sizes.expired, b.live), nil
}

// foregroundRuns are the runs of both sides; the i-th of each are a pair.
type foregroundRuns struct {
	without, with []load
	lengths       []time.Duration // of the drains
	memory        []float64       // MiB of each sweeper; empty where the machine doesn't tell
}

// alone runs the load for as long as the last drain took.
func (m *foregroundRuns) alone(ctx context.Context, clients []*pgx.Conn, rate float64) error {
	l, err := putFor(ctx, clients, rate, time.After(m.lengths[len(m.lengths)-1]))
	m.without = append(m.without, l)
	return err
}

// beside runs the load while a sweeper drains the table.
func (b *bench) beside(ctx context.Context, clients []*pgx.Conn, rate float64, m *foregroundRuns) error {
	began := time.Now()
	s, err := startSweeper(ctx, b.sweeper, b.server.Cluster.URL(), b.sizes.expired)
	if err != nil {
		return err
	}
	l, err := putFor(ctx, clients, rate, s.drained)
	if err != nil {
		return errors.Join(err, s.stop())
	}
	m.lengths = append(m.lengths, time.Since(began))
	m.with = append(m.with, l)
	if mib, ok := s.resident(); ok {
		m.memory = append(m.memory, mib)
	}
	if err := s.stop(); err != nil {
		return err
	}
	return b.check(ctx, step{name: "kv-sweeper"}, drain{rows: b.sizes.expired})
}

// putFor puts until something comes from end: rate puts a second by all clients together, or as many as they can when it is 0. The i-th
// put is due at a time of its own, whatever became of the one before. Its time counts from then where its client was still at the one
// before, else from when it was sent, so that a client's timer is not measured.
func putFor[T any](ctx context.Context, clients []*pgx.Conn, rate float64, end <-chan T) (load, error) {
	over := make(chan struct{})
	times, errs := make([]load, len(clients)), make([]error, len(clients))
	began := time.Now()
	var group sync.WaitGroup
	for c, conn := range clients {
		group.Go(func() {
			for i := c; ; i += len(clients) {
				from := time.Now()
				if rate > 0 {
					due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
					if wait := due.Sub(from); wait > 0 {
						select {
						case <-time.After(wait):
						case <-over:
							return
						}
						from = time.Now()
					} else {
						from = due
					}
				}
				select {
				case <-over:
					return
				default:
				}
				// 7919 and the number of keys have no common divisor: every key has its turn.
				_, err := kvpg.Put(ctx, conn, puts, putKey(i*7919%putKeys), map[string]any{"state": "paid", "amount": i}, kvpg.TTL(24*time.Hour), nil)
				if err != nil {
					errs[c] = err
					return
				}
				times[c] = append(times[c], float64(time.Since(from))/float64(time.Millisecond))
			}
		})
	}
	select {
	case <-end:
	case <-ctx.Done():
	}
	close(over)
	group.Wait()
	all := slices.Concat(times...)
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, err
	}
	if len(all) < 100 {
		return nil, fmt.Errorf("%d puts are too few to tell a p99: ask for more rows", len(all))
	}
	slices.Sort(all)
	return all, nil
}

// table is both sides, by pairs.
func (m *foregroundRuns) table(rate, most float64, expired, live int) string {
	var ratios []float64
	for i := range m.with {
		ratios = append(ratios, m.with[i].at(0.99)/m.without[i].at(0.99))
	}
	settings := "its defaults"
	if v := os.Getenv(dutyCycle); v != "" {
		settings = "`" + dutyCycle + "=" + v + "`"
	}
	text := fmt.Sprintf("\nPuts by %d clients, %.0f a second in all (without a pace they reach %.0f), without a sweeper and while `kv-sweeper run` with %s "+
		"drains %d expired rows beside %d live ones; medians over %d pairs:\n\n| | p50, ms | p99, ms | p99.9, ms | longest, ms |\n|---|---:|---:|---:|---:|\n",
		putClients, rate, most, settings, expired, live, len(m.with))
	for _, side := range m.sides() {
		text += "| " + side.name
		for _, q := range []float64{0.5, 0.99, 0.999, 1} {
			text += fmt.Sprintf(" | %.2f", side.median(q))
		}
		text += " |\n"
	}
	text += fmt.Sprintf("\nThe p99 beside the sweep is %.2f of the p99 without, %.2f to %.2f over the pairs; aim ≤ %.1f%s. ",
		report.Median(ratios), slices.Min(ratios), slices.Max(ratios), putAim, missed(report.Median(ratios) > putAim))
	var seconds []float64
	for _, l := range m.lengths {
		seconds = append(seconds, l.Seconds())
	}
	text += fmt.Sprintf("A drain took %.1f s beside the puts, with the program's start. ", report.Median(seconds))
	if len(m.memory) == 0 {
		return text + "The sweeper's memory was not measured: there is no /proc here.\n" + plotOfPuts
	}
	return text + fmt.Sprintf("The sweeper's resident memory was %.1f MiB at most (VmHWM); aim < %d MiB%s.\n",
		slices.Max(m.memory), memoryAim, missed(slices.Max(m.memory) >= memoryAim)) + plotOfPuts
}

type side struct {
	name string
	runs []load
}

func (m *foregroundRuns) sides() []side {
	return []side{{"without the sweep", m.without}, {"beside the sweep", m.with}}
}

// median over the runs of their q-th quantiles.
func (s side) median(q float64) float64 {
	var all []float64
	for _, l := range s.runs {
		all = append(all, l.at(q))
	}
	return report.Median(all)
}

func missed(yes bool) string {
	if yes {
		return " (missed)"
	}
	return ""
}
