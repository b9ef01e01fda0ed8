package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// holder is one lease while a function runs. lost belongs to the renewing goroutine until that has ended.
type holder struct {
	db    kvpg.DB
	lease kvpg.Lease
	ttl   time.Duration
	until time.Time // by this machine's monotonic clock: ttl after the last request that succeeded was sent
	lost  error
}

var (
	errOver = errors.New("it is over, or another's")
	errLate = errors.New("no renewal came in time")
	errWait = errors.New("no renewal was answered in time (db needs a connection to spare beside those that the function holds)")
)

// lostBecause makes the cause of fn's cancelled context: kvpg.ErrLeaseLost, and what happened.
func lostBecause(err error) error { return fmt.Errorf("%w: %w", kvpg.ErrLeaseLost, err) }

// waited is the loss to a request that got no connection, or no answer, before the lease ended.
func waited(err error) error { return lostBecause(fmt.Errorf("%w: %w", errWait, err)) }

// renew renews until ctx ends (nil) or the lease is lost (why). At the end of the lease it calls lose, though a driver may go on with a request
// whose deadline has passed. A renewal that fails is tried again, ever sooner than the lease ends.
func (h *holder) renew(ctx context.Context, lose context.CancelCauseFunc) error {
	var failed error
	for ctx.Err() == nil {
		pause := time.NewTimer(nextPause(h.ttl, time.Until(h.until), failed != nil))
		select {
		case <-ctx.Done():
			pause.Stop()
			continue
		case <-pause.C:
		}
		if !time.Now().Before(h.until) {
			return lostBecause(cmp.Or(failed, errLate))
		}
		sent := time.Now()
		try, cancel := context.WithDeadline(ctx, h.until)
		late := waited(cmp.Or(failed, context.DeadlineExceeded))
		untold := context.AfterFunc(try, func() {
			if errors.Is(try.Err(), context.DeadlineExceeded) {
				lose(late)
			}
		})
		_, held, err := h.lease.Renew(try, h.db, h.ttl)
		untold()
		ended := try.Err()
		cancel()
		if errors.Is(ended, context.DeadlineExceeded) { // fn was told, whatever has come since
			return late
		}
		switch {
		case err != nil:
			failed = err
		case !held:
			return lostBecause(errOver)
		default:
			h.until, failed = sent.Add(h.ttl), nil
		}
	}
	return nil // fn is done; whether the lease is still held shows at its release
}

// nextPause is the time to the next renewal: a third of ttl, less up to a fifth of that, so that many holders don't renew in step; after a
// failure a tenth of what is left and at least a hundredth of ttl; and never past the end.
func nextPause(ttl, left time.Duration, failed bool) time.Duration {
	pause := ttl/3 - rand.N(ttl/15+1)
	if failed {
		pause = max(left/10, ttl/100)
	}
	return max(min(pause, left), 0)
}
