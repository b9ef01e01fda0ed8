package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A command does its work over the example's tables.
type command func(ctx context.Context, cfg config, pool *pgxpool.Pool, stdout io.Writer, logger *log.Logger) error

var commands = map[string]command{
	"append":  appendCommand,
	"consume": consumeCommand,
	"check":   checkCommand,
	"trial":   trialCommand,
}

func execute(ctx context.Context, cfg config, stdout io.Writer, logger *log.Logger) error {
	pool, err := open(ctx, cfg)
	switch {
	case err != nil && ctx.Err() != nil && cfg.command == "consume":
		return nil // asked to stop before it had begun, which is no failure
	case err != nil:
		return err
	}
	defer pool.Close()
	return commands[cfg.command](ctx, cfg, pool, stdout, logger)
}

// appendCommand appends events in transactions of a few.
func appendCommand(ctx context.Context, cfg config, pool *pgxpool.Pool, stdout io.Writer, _ *log.Logger) error {
	var last int64
	for left := cfg.events; left > 0; {
		events := someEvents(min(left, 1+rand.IntN(10)))
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
			last, err = appendEvents(ctx, tx, events)
			return err
		})
		if err != nil {
			return fmt.Errorf("%w (%d of %d events are appended)", err, cfg.events-left, cfg.events)
		}
		left -= len(events)
	}
	fmt.Fprintf(stdout, "appended %d events, the last at position %d\n", cfg.events, last)
	return nil
}

// someEvents makes events of a few accounts.
func someEvents(n int) []event {
	events := make([]event, n)
	for i := range events {
		events[i] = event{account: fmt.Sprintf("account %d", rand.IntN(7)), cents: 1 + rand.Int64N(10_000) - 3_000}
	}
	return events
}

func consumeCommand(ctx context.Context, cfg config, pool *pgxpool.Pool, stdout io.Writer, _ *log.Logger) error {
	c := &consumer{pool: pool, cursors: cursors(cfg.schema), batch: cfg.batch, cursorApart: cfg.cursorApart}
	fmt.Fprintln(stdout, "at work")
	t, err := c.run(ctx, cfg.drain)
	fmt.Fprintf(stdout, "applied %d events in %d batches; lost %d batches to other replicas; %d retries\n",
		t.events, t.batches, t.lost, t.retries)
	return err
}

func checkCommand(ctx context.Context, cfg config, pool *pgxpool.Pool, stdout io.Writer, _ *log.Logger) error {
	r, err := readReport(ctx, pool, cfg.schema)
	if err != nil {
		return err
	}
	if err := r.write(stdout); err != nil {
		return err
	}
	if n := r.failed(); n > 0 {
		return fmt.Errorf("%d of %d checks failed", n, len(r.checks()))
	}
	return nil
}
