package quota

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/quota"
	"github.com/queenkv/queenkv/tests/testdb"
)

// Goroutines that write at once, while readings come and the tenant is measured, fill the limit and do not pass it; each write is one
// statement, and a refused one none.
func TestTogether(t *testing.T) {
	t.Parallel()
	const limit, goroutines, each = 100, 8, 40
	pool := testdb.New(t, nil).Pool(t)
	allow(t, pool, things.Tenant(), limit, 0)
	q := enforcer(t, pool, nil)
	counted := &counting{db: pool}
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				_, err := q.Put(t.Context(), counted, things, fmt.Sprint(g, " ", i), i, kvpg.Forever(), nil)
				switch {
				case err == nil:
					allowed.Add(1)
				case !errors.Is(err, quota.ErrQuota):
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if err := q.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if allowed.Load() != limit || counted.statements.Load() != limit {
		t.Errorf("%d writes were allowed, of %d, with %d statements", allowed.Load(), limit, counted.statements.Load())
	}
	measure(t, pool)
	refresh(t, q)
	if u, _ := q.Usage(things.Tenant()); u.MeasuredRows != limit {
		t.Errorf("%d rows are stored, want %d", u.MeasuredRows, limit)
	}
}
