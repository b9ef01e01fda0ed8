package main

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/bench/internal/server"
	"github.com/queenkv/queenkv/tests/cluster"
)

// install puts the schema into a new cluster, and an empty schema named bench.
func install(ctx context.Context, c *cluster.Cluster) (*server.Server, error) {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return nil, err
	}
	at := &server.Server{Cluster: c, Conn: conn}
	if err := queenkv.Install(ctx, conn, nil); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	if err := at.Exec(ctx, `create schema bench`); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return at, nil
}

var errStopped = errors.New("stopped")

// goAll runs functions beside until stop, which waits for them. An error of one ends ctx with it as the cause.
func goAll(ctx context.Context, cancel context.CancelCauseFunc, functions ...func(context.Context) error) (stop func()) {
	inner, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, f := range functions {
		all.Go(func() {
			if err := f(inner); err != nil && inner.Err() == nil {
				cancel(err)
			}
		})
	}
	return func() {
		end()
		all.Wait()
		cancel(errStopped)
	}
}
