package sweeper

import (
	"context"
	"time"
)

// Clock is time as the loop sees it: for tests, which then need not wait.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or earlier when ctx ends.
	Sleep(ctx context.Context, d time.Duration)
}

type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

func (machineClock) Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
