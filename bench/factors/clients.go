package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A reading is one run of one contender.
type reading struct {
	perSecond float64
	latencies []float64 // of each call, microseconds
	wal       float64   // bytes a call
}

// connect opens the cell's clients.
func (b *bench) connect(ctx context.Context, n int) (conns []*pgx.Conn, err error) {
	url, err := b.server.SocketURL()
	if err != nil {
		return nil, err
	}
	for range n {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, errors.Join(err, hangUp(ctx, conns))
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func hangUp(ctx context.Context, conns []*pgx.Conn) (err error) {
	for _, conn := range conns {
		err = errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return err
}

// run has every client call for so many seconds, one call after the other. The same seed gives the same keys.
func (b *bench) run(ctx context.Context, c cell, s side, conns []*pgx.Conn, seed int, seconds float64) (r reading, err error) {
	before, err := b.server.WAL(ctx)
	if err != nil {
		return r, err
	}
	b.runs++
	length := time.Duration(seconds * float64(time.Second))
	latencies := make([][]float64, len(conns))
	errs := make([]error, len(conns))
	var group sync.WaitGroup
	began := time.Now()
	for i, conn := range conns {
		w := newWorker(c, fmt.Sprintf("%d-%d", b.runs, i), seed, i)
		group.Go(func() {
			for now := began; now.Sub(began) < length; {
				if errs[i] = s.call(ctx, conn, w); errs[i] != nil {
					return
				}
				then := now
				now = time.Now()
				latencies[i] = append(latencies[i], float64(now.Sub(then).Nanoseconds())/1e3)
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return r, err
	}
	after, err := b.server.WAL(ctx)
	if err != nil {
		return r, err
	}
	r.latencies = slices.Concat(latencies...)
	r.perSecond = float64(len(r.latencies)) / took.Seconds()
	r.wal = float64(after-before) / float64(len(r.latencies))
	return r, nil
}
