package lease

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

const ttl = 30 * time.Second

var leases = kvpg.NewNamespace("leases")

// fakeDB plays the functions of one lease in the time of a synctest bubble; latency passes before it answers, and five times
// as much before it answers an acquire. fail may stand in for
// the answer of the nth renewal, from 1.
type fakeDB struct {
	latency time.Duration
	fail    func(ctx context.Context, n int) error

	mu       sync.Mutex
	taken    bool // before Hold came
	until    time.Time
	renewals []time.Time // when they were sent
	released int
}

func (db *fakeDB) QueryRow(ctx context.Context, sql string, _ ...any) pgx.Row {
	return row(func(dest []any) error {
		sent := time.Now()
		time.Sleep(db.latency)
		switch {
		case strings.Contains(sql, "acquire"):
			time.Sleep(4 * db.latency)
			db.until = time.Now().Add(ttl)
			owner := "me"
			*dest[0].(*bool), *dest[1].(*int64), *dest[2].(**string) = !db.taken, 7, &owner
			return nil
		case strings.Contains(sql, "renew"):
			return db.renew(ctx, sent, dest[0].(**int64))
		case strings.Contains(sql, "release"):
			db.mu.Lock()
			defer db.mu.Unlock()
			db.released++
			*dest[0].(*bool) = time.Now().Before(db.until)
			return ctx.Err()
		}
		return errors.New("unknown: " + sql)
	})
}

func (db *fakeDB) renew(ctx context.Context, sent time.Time, expires **int64) error {
	db.mu.Lock()
	db.renewals = append(db.renewals, sent)
	n := len(db.renewals)
	db.mu.Unlock()
	if db.fail != nil {
		if err := db.fail(ctx, n); err != nil {
			return err
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if time.Now().Before(db.until) {
		db.until = time.Now().Add(ttl)
		micros := db.until.UnixMicro()
		*expires = &micros
	}
	return nil
}

type row func(dest []any) error

func (r row) Scan(dest ...any) error { return r(dest) }

// A bubble's test fails when a goroutine is left in it, so each of these shows that none outlives Hold.

func TestHoldRenews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &fakeDB{latency: time.Second}
		acquired := time.Now()
		err := Hold(t.Context(), db, leases, "k", ttl, func(ctx context.Context, l kvpg.Lease) error {
			if l.Token.String() != "7" || l.Key != "k" || l.Namespace != leases {
				t.Errorf("the lease is %+v", l)
			}
			time.Sleep(10 * ttl)
			return ctx.Err()
		}, nil)
		if err != nil || db.released != 1 {
			t.Errorf("%v, released %d times, want once and no error", err, db.released)
		}
		last := acquired.Add(5 * time.Second)
		for _, sent := range db.renewals {
			if pause := sent.Sub(last); pause > ttl/3+time.Second || pause < ttl/3-ttl/15 {
				t.Errorf("a renewal %v after the last answer, want about a third of %v", pause, ttl)
			}
			last = sent
		}
		if n := len(db.renewals); n < 27 || n > 40 {
			t.Errorf("%d renewals in ten times the ttl", n)
		}
	})
}

func TestHoldGivesErrorsOfTheFunction(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	synctest.Test(t, func(t *testing.T) {
		db := &fakeDB{}
		if err := Hold(t.Context(), db, leases, "k", ttl, func(context.Context, kvpg.Lease) error { return mine }, nil); !errors.Is(err, mine) || errors.Is(err, kvpg.ErrLeaseLost) {
			t.Errorf("%v, want the function's error alone", err)
		}
		if db.released != 1 {
			t.Error("not released")
		}
	})
}

func TestHoldReleasesWhenTheFunctionPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &fakeDB{}
		defer func() {
			if p := recover(); p != "mine" || db.released != 1 {
				t.Errorf("the panic %v, released %d times", p, db.released)
			}
		}()
		_ = Hold(t.Context(), db, leases, "k", ttl, func(context.Context, kvpg.Lease) error { panic("mine") }, nil)
	})
}

func TestHoldOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &fakeDB{taken: true}
		err := Hold(t.Context(), db, leases, "k", ttl, func(context.Context, kvpg.Lease) error {
			t.Error("the function ran")
			return nil
		}, nil)
		var held *HeldError
		if !errors.As(err, &held) || held.Owner != "me" || db.released != 0 {
			t.Errorf("%v, released %d times", err, db.released)
		}
	})
}

// The function's context ends when the lease is found lost, or when ttl has passed since the last good request was sent and not a
// moment later, and its cause says why.
func TestHoldLosesTheLease(t *testing.T) {
	t.Parallel()
	gone := errors.New("the database is gone")
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		fail    func(db *fakeDB, ctx context.Context, n int) error
		latest  time.Duration // after the acquire was sent
		earlier bool          // than latest, by more than a moment
		cause   error
	}{
		"over": {func(db *fakeDB, _ context.Context, _ int) error {
			db.mu.Lock()
			db.until = time.Now()
			db.mu.Unlock()
			return nil
		}, ttl/3 + 7*time.Second, true, errOver},
		"gone":       {func(*fakeDB, context.Context, int) error { return gone }, ttl, false, gone},
		"hangs":      {func(_ *fakeDB, ctx context.Context, _ int) error { return hang(ctx) }, ttl, false, context.DeadlineExceeded},
		"back again": {func(_ *fakeDB, _ context.Context, n int) error { return map[bool]error{true: gone}[n < 3] }, 0, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := &fakeDB{latency: time.Second}
				db.fail = func(ctx context.Context, n int) error { return c.fail(db, ctx, n) }
				start := time.Now()
				err := Hold(t.Context(), db, leases, "k", ttl, func(ctx context.Context, _ kvpg.Lease) error {
					if c.cause == nil {
						time.Sleep(5 * ttl)
						return ctx.Err()
					}
					<-ctx.Done()
					if cause := context.Cause(ctx); !errors.Is(cause, kvpg.ErrLeaseLost) || !errors.Is(cause, c.cause) {
						t.Errorf("the cause is %v, want the loss, because of %v", cause, c.cause)
					}
					took := time.Since(start)
					if took > c.latest || (took < c.latest) != c.earlier {
						t.Errorf("cancelled after %v, want %v", took, c.latest)
					}
					return nil // as if nothing had happened
				}, nil)
				if c.cause == nil {
					if err != nil || db.released != 1 {
						t.Errorf("%v, released %d times", err, db.released)
					}
					return
				}
				if !errors.Is(err, kvpg.ErrLeaseLost) || db.released != 0 {
					t.Errorf("Hold gave %v and released %d times, want the loss, and no release of what may be another's", err, db.released)
				}
			})
		})
	}
}

// A lease that ran out after the last renewal shows at the release.
func TestHoldLosesTheLeaseAtTheEnd(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	synctest.Test(t, func(t *testing.T) {
		db := &fakeDB{}
		err := Hold(t.Context(), db, leases, "k", ttl, func(context.Context, kvpg.Lease) error {
			db.mu.Lock()
			defer db.mu.Unlock()
			db.until = time.Now()
			return mine
		}, nil)
		if !errors.Is(err, kvpg.ErrLeaseLost) || !errors.Is(err, mine) {
			t.Errorf("%v, want both errors", err)
		}
	})
}

// The caller's context ends: the function is told, the lease stays held until it has wound up, and is released.
func TestHoldOfAContextThatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &fakeDB{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := Hold(ctx, db, leases, "k", ttl, func(ctx context.Context, _ kvpg.Lease) error {
			<-ctx.Done()
			time.Sleep(3 * ttl)
			return ctx.Err()
		}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, kvpg.ErrLeaseLost) || db.released != 1 {
			t.Errorf("%v, released %d times", err, db.released)
		}
	})
}

// In a transaction the lease would be nobody's until it commits. Nothing is sent: these would panic.
func TestHoldRefusesATransaction(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]kvpg.DB{"pgx": struct{ pgx.Tx }{}, "database/sql": kvpg.FromSQLTx(nil), "nothing": nil} {
		err := Hold(t.Context(), db, leases, "k", ttl, func(context.Context, kvpg.Lease) error {
			t.Errorf("%s: the function ran", name)
			return nil
		}, nil)
		var e *kvpg.Error
		if !errors.Is(err, kvpg.ErrBadRequest) || !errors.As(err, &e) || e.SQLState != "22023" || e.Index != -1 || !strings.Contains(err.Error(), "pool") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// runtime.Goexit is what FailNow of a test calls.
func TestHoldReleasesOnGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, ended := &fakeDB{}, make(chan struct{})
		go func() {
			defer close(ended)
			_ = Hold(t.Context(), db, leases, "k", ttl, func(context.Context, kvpg.Lease) error {
				runtime.Goexit()
				return nil
			}, nil)
		}()
		<-ended
		if db.released != 1 {
			t.Errorf("released %d times", db.released)
		}
	})
}

// What goes into a log is short, whatever another writer has put under the key.
func TestHeldErrorIsShort(t *testing.T) {
	t.Parallel()
	for _, expires := range []time.Time{{}, time.Now()} {
		err := &HeldError{Owner: strings.Repeat("日", 60_000), ExpiresAt: expires}
		if text := err.Error(); strings.Count(text, "日") != 100 || len(text) > 400 {
			t.Errorf("%d bytes: %.500s", len(text), text)
		}
		if err := (&HeldError{Owner: "host-7", ExpiresAt: expires}); !strings.Contains(err.Error(), `held by "host-7" `) {
			t.Errorf("%v", err)
		}
	}
}
