package main

import (
	"context"
	"errors"
	"sync"
)

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
