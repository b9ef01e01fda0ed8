package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pattern is the order of the calls: M a batch of new markers, C a counter, L a lease. At ebb all calls are G, a read.
const pattern = "MCCLMCC"

// A call that was made. took is from when it was due, not from when a client was free for it: a server that stands still makes all
// calls that were due meanwhile late.
type call struct {
	due  time.Duration // since the phase began
	took time.Duration
	kind byte // of pattern
	n    int
}

// A load makes calls from some clients at once.
type load struct {
	clients int
	do      func(ctx context.Context, client, n int, kind byte) error
}

// paced makes rate calls a second for a time, and returns them in no order. Calls may start late; after twice the time those that are
// left are not made.
func (l load) paced(ctx context.Context, rate float64, length time.Duration, kinds string) ([]call, error) {
	begin := time.Now()
	total := int64(rate * length.Seconds())
	return l.run(ctx, func(n int64) (due time.Duration, ok bool) {
		due = time.Duration(float64(n) / rate * float64(time.Second))
		if wait := time.Until(begin.Add(due)); n < total && wait > 0 {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		return due, n < total && time.Since(begin) < 2*length
	}, begin, kinds)
}

// closed makes each client call again as soon as it has its answer.
func (l load) closed(ctx context.Context, length time.Duration, kinds string) ([]call, error) {
	begin := time.Now()
	return l.run(ctx, func(int64) (time.Duration, bool) { return time.Since(begin), time.Since(begin) < length }, begin, kinds)
}

func (l load) run(ctx context.Context, next func(n int64) (time.Duration, bool), begin time.Time, kinds string) ([]call, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var taken atomic.Int64
	calls, errs := make([][]call, l.clients), make([]error, l.clients)
	var all sync.WaitGroup
	for client := range l.clients {
		all.Go(func() {
			for ctx.Err() == nil {
				n := taken.Add(1) - 1
				due, ok := next(n)
				if !ok || ctx.Err() != nil {
					return
				}
				kind := kinds[n%int64(len(kinds))]
				if err := l.do(ctx, client, int(n), kind); err != nil {
					errs[client] = err
					cancel()
					return
				}
				calls[client] = append(calls[client], call{due, time.Since(begin) - due, kind, int(n)})
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return slices.Concat(calls...), errors.Join(errs...)
}
