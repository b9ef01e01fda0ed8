package kvpg_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/lease"
	"github.com/queenkv/queenkv/tests/testdb"
)

// What happens to a held lease in the database, and what its holder is told. The times to live are such that the first renewal
// after the loss ends each of them; the tests of package kvpg/lease play the clock.
func TestHold(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	pool := database.Pool(t)
	mine := errors.New("mine")
	wait := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	for name, c := range map[string]struct {
		ttl  time.Duration
		fn   func(ctx context.Context, l kvpg.Lease) error
		want error  // nil: Hold gives none
		rows string // under the key, when Hold has returned
	}{
		"done":  {time.Hour, func(context.Context, kvpg.Lease) error { return nil }, nil, ""},
		"fails": {time.Hour, func(context.Context, kvpg.Lease) error { return mine }, mine, ""},
		// A renewal is sent two seconds after the acquire, and may take four more.
		"renewed, and guarding": {6 * time.Second, func(ctx context.Context, l kvpg.Lease) error {
			for {
				e, ok, err := kvpg.Get(ctx, pool, l.Namespace, l.Key)
				if err != nil {
					return err
				}
				if !ok || e.Version != l.Token {
					return fmt.Errorf("the row is %+v, %v", e, ok)
				}
				if e.ExpiresAt.After(l.ExpiresAt) {
					break
				}
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(20 * time.Millisecond):
				}
			}
			tx, err := pool.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback(context.WithoutCancel(ctx))
			if err := l.Guard(ctx, tx); err != nil {
				return err
			}
			return tx.Commit(ctx)
		}, nil, ""},
		"deleted": {300 * time.Millisecond, func(ctx context.Context, l kvpg.Lease) error {
			if _, err := kvpg.Delete(ctx, pool, l.Namespace, l.Key, nil); err != nil {
				return err
			}
			return wait(ctx)
		}, kvpg.ErrLeaseLost, ""},
		"another's": {300 * time.Millisecond, func(ctx context.Context, l kvpg.Lease) error {
			if _, err := kvpg.Put(ctx, pool, l.Namespace, l.Key, "another", kvpg.Forever(), nil); err != nil {
				return err
			}
			_ = wait(ctx)
			return nil // who doesn't care is told all the same
		}, kvpg.ErrLeaseLost, `"another"`},
		"expired before it ends": {time.Hour, func(ctx context.Context, l kvpg.Lease) error {
			_, err := pool.Exec(ctx, `update queen.kv set expires_at = clock_timestamp() where tenant_id = $1 and key = $2`, l.Namespace.Tenant(), l.Key)
			return err
		}, kvpg.ErrLeaseLost, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := freshSpace()
			err := lease.Hold(t.Context(), pool, ns, "k", c.ttl, c.fn, &lease.Options{Owner: "me"})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
			entry, ok, err := kvpg.Get(t.Context(), pool, ns, "k")
			if err != nil || ok != (c.rows != "") || string(entry.Value) != c.rows {
				t.Errorf("the key holds %s, %v, %v, want %q", entry.Value, ok, err, c.rows)
			}
		})
	}
}

// The database goes away: the function is told before its time is over, and what was lost is named.
func TestHoldWithoutDatabase(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	pool := database.Pool(t)
	err := lease.Hold(t.Context(), pool, freshSpace(), "k", 400*time.Millisecond, func(ctx context.Context, _ kvpg.Lease) error {
		pool.Close()
		<-ctx.Done()
		return nil
	}, nil)
	if !errors.Is(err, kvpg.ErrLeaseLost) {
		t.Errorf("%v, want the loss", err)
	}
}

// Of two who want it one runs; the other is told who has it.
func TestHoldTwice(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t, nil).Pool(t)
	ns := freshSpace()
	err := lease.Hold(t.Context(), pool, ns, "k", time.Hour, func(ctx context.Context, l kvpg.Lease) error {
		err := lease.Hold(ctx, pool, ns, "k", time.Hour, func(context.Context, kvpg.Lease) error {
			t.Error("both run")
			return nil
		}, nil)
		var held *lease.HeldError
		if !errors.As(err, &held) || held.Owner != "the first" || !held.ExpiresAt.Equal(l.ExpiresAt) {
			t.Errorf("the second gets %v", err)
		}
		return nil
	}, &lease.Options{Owner: "the first"})
	if err != nil {
		t.Error(err)
	}
}
