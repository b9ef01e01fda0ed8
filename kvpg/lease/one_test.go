package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// In a pool of one connection, which the function holds, no renewal can be sent. The function is told when ttl has passed since the
// acquire was sent, before the database ends the lease, even by a driver that doesn't keep to deadlines; and the error says what to do.
func TestHoldWithoutASpareConnection(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]time.Duration{"punctual": 0, "late": 2 * ttl} {
		synctest.Test(t, func(t *testing.T) {
			db := &fakeDB{latency: time.Second}
			db.fail = func(ctx context.Context, _ int) error {
				<-ctx.Done()
				time.Sleep(late)
				return ctx.Err()
			}
			start := time.Now()
			err := Hold(t.Context(), db, leases, "k", ttl, func(ctx context.Context, _ kvpg.Lease) error {
				<-ctx.Done()
				if took := time.Since(start); took != ttl || !time.Now().Before(db.until) {
					t.Errorf("%s: told after %v, want %v and before the end", name, took, ttl)
				}
				return ctx.Err()
			}, nil)
			if !errors.Is(err, kvpg.ErrLeaseLost) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection to spare") {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}
