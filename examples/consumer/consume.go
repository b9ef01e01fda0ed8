package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// poll is how often a consumer that has come to the log's end looks whether there is more.
const poll = 20 * time.Millisecond

// A tally is what one consumer did.
type tally struct {
	events  int
	batches int
	lost    int // batches that another replica had applied first
	retries int // transactions that were lost to a conflict (SQLSTATE 40001 or 40P01)
}

// run makes steps until ctx ends, or with drain until there is nothing to apply. That ctx ends is no error, whatever the
// step said that it ended: its transaction is committed or not, and the cursor with it.
func (c *consumer) run(ctx context.Context, drain bool) (t tally, err error) {
	for ctx.Err() == nil {
		n, err := c.step(ctx)
		pause := time.Duration(0)
		switch {
		case errors.Is(err, kvpg.ErrPreconditionFailed):
			t.lost++
		case kvpg.IsRetryable(err):
			t.retries++
			pause = time.Duration(rand.Int64N(int64(poll))) // spread, or they meet again
		case err != nil && ctx.Err() == nil:
			return t, err
		case n > 0:
			t.events += n
			t.batches++
		case drain:
			return t, nil
		default:
			pause = poll
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return t, nil
}
