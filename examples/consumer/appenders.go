package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	appenderCount = 2
	// appendPause keeps the log's end within the replicas' reach.
	appendPause = 4 * time.Millisecond
	// One transaction of so many is rolled back: that must leave no gap.
	rollbackEvery = 8
)

// appenders append to the log, in transactions of a few events, until finish.
type appenders struct {
	least                int64 // events to append, whenever finish is called
	appended, rolledBack atomic.Int64

	finished chan struct{}
	wait     sync.WaitGroup
	failures chan error
}

func startAppenders(ctx context.Context, pool *pgxpool.Pool, least int) *appenders {
	a := &appenders{least: int64(least), finished: make(chan struct{}), failures: make(chan error, appenderCount)}
	for range appenderCount {
		a.wait.Go(func() {
			if err := a.run(ctx, pool); err != nil {
				a.failures <- err
			}
		})
	}
	return a
}

// finish lets the appenders come to their end.
func (a *appenders) finish() error {
	close(a.finished)
	a.wait.Wait()
	close(a.failures)
	var all []error
	for err := range a.failures {
		all = append(all, err)
	}
	return errors.Join(all...)
}

var errRollback = errors.New("rolled back on purpose")

func (a *appenders) run(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		select {
		case <-a.finished:
			if a.appended.Load() >= a.least {
				return nil
			}
		case <-time.After(rand.N(2 * appendPause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		events := someEvents(1 + rand.IntN(10))
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := appendEvents(ctx, tx, events); err != nil {
				return err
			}
			if rand.IntN(rollbackEvery) == 0 {
				return errRollback
			}
			return nil
		})
		switch {
		case errors.Is(err, errRollback):
			a.rolledBack.Add(int64(len(events)))
		case err != nil:
			return err
		default:
			a.appended.Add(int64(len(events)))
		}
	}
}
