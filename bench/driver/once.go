package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
	"github.com/queenkv/queenkv/kvpg"
)

const onceAim = 0.75

const onceHead = `
| | by hand, transactions/s | kvpg, transactions/s | kvpg / by hand | least to most | aim |
|---|---:|---:|---:|---:|---:|
`

// A transaction runs the effect of a key.
type transaction func(ctx context.Context, pool *pgxpool.Pool, key string) error

func byHand(ctx context.Context, pool *pgxpool.Pool, key string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return effect(ctx, tx, key) })
}

func withOnce(ctx context.Context, pool *pgxpool.Pool, key string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		r, err := kvpg.Once(ctx, tx, orders, key, time.Hour, func(ctx context.Context) ([]byte, error) {
			return []byte("booked"), effect(ctx, tx, key)
		}, nil)
		if err == nil && r.Replayed {
			err = errors.New("a new key was replayed")
		}
		return err
	})
}

func effect(ctx context.Context, tx pgx.Tx, key string) error {
	_, err := tx.Exec(ctx, `insert into bench.effect (key, cents) values ($1, $2)`, key, 1250)
	return err
}

func measureOnce(ctx context.Context, s *server.Server, o options) (string, error) {
	if err := s.Exec(ctx, `create table bench.effect (id bigint generated always as identity primary key, key text not null, cents bigint not null)`); err != nil {
		return "", err
	}
	url, err := s.SocketURL()
	if err != nil {
		return "", err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return "", err
	}
	config.MaxConns = int32(o.clients)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	for _, warm := range []transaction{byHand, withOnce} { // connections, statements, the bodies of the functions
		if _, err := throughput(ctx, s, pool, warm, o.clients, time.Second); err != nil {
			return "", err
		}
	}
	var hand, once, ratios []float64
	for pair := range o.pairs {
		h, k, err := oncePair(ctx, s, pool, pair, o)
		if err != nil {
			return "", err
		}
		hand, once, ratios = append(hand, h), append(once, k), append(ratios, k/h)
	}
	aim, ratio := fmt.Sprintf("≥ %.2f", onceAim), report.Median(ratios)
	if ratio < onceAim {
		aim += " (missed)"
	}
	return onceHead + fmt.Sprintf("| Once around an INSERT, %d clients | %.0f | %.0f | %.2f | %.2f to %.2f | %s |\n", o.clients,
		report.Median(hand), report.Median(once), ratio, slices.Min(ratios), slices.Max(ratios), aim), nil
}

// oncePair runs both sides one after the other, by hand first in an even pair.
func oncePair(ctx context.Context, s *server.Server, pool *pgxpool.Pool, number int, o options) (hand, once float64, err error) {
	sides := []struct {
		run  transaction
		rate *float64
	}{{byHand, &hand}, {withOnce, &once}}
	if number%2 == 1 {
		slices.Reverse(sides)
	}
	for _, side := range sides {
		if *side.rate, err = throughput(ctx, s, pool, side.run, o.clients, time.Duration(o.seconds)*time.Second); err != nil {
			return 0, 0, err
		}
	}
	return hand, once, nil
}

// throughput is how many transactions a second the clients commit, from empty tables. Every key is a new one.
func throughput(ctx context.Context, s *server.Server, pool *pgxpool.Pool, run transaction, clients int, length time.Duration) (float64, error) {
	if err := s.Exec(ctx, `truncate queen.kv, bench.effect`, `checkpoint`); err != nil {
		return 0, err
	}
	var done atomic.Int64
	errs := make([]error, clients)
	began := time.Now()
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for n := 0; time.Since(began) < length; n++ {
				if errs[client] = run(ctx, pool, strconv.Itoa(client)+"/"+strconv.Itoa(n)); errs[client] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	var rows int64
	if err := s.Conn.QueryRow(ctx, `select count(*) from bench.effect`).Scan(&rows); err != nil {
		return 0, err
	}
	if rows != done.Load() {
		return 0, fmt.Errorf("%d transactions left %d effects", done.Load(), rows)
	}
	return float64(done.Load()) / took.Seconds(), nil
}
