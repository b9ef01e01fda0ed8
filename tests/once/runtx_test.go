package once

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// conflict makes every try of a function fail with 40001: its snapshot is older than what it updates.
func conflict(ctx context.Context, t *testing.T, db *testdb.DB, tx kvpg.Tx) error {
	t.Helper()
	var n int
	if err := tx.QueryRow(ctx, `select count(*) from public.effect`).Scan(&n); err != nil {
		return err
	}
	db.Exec(t, `update public.effect set what = 'other'`)
	_, err := tx.Exec(ctx, `update public.effect set what = 'mine'`)
	return err
}

// TestRunTxGivesUp: at the last attempt, and at the context's end, with the errors of both; nothing is committed, and no
// transaction is left open.
func TestRunTxGivesUp(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		db.Exec(t, `insert into public.effect values ('before')`)
		runs := 0
		failing := func(ctx context.Context, tx kvpg.Tx) error {
			runs++
			return conflict(ctx, t, db, tx)
		}
		repeatable := at("repeatable read", handle)
		err := kvpg.RunTx(t.Context(), repeatable, failing, &kvpg.TxOptions{MaxAttempts: 3})
		if state(err) != "40001" || !kvpg.IsRetryable(err) || runs != 3 {
			t.Errorf("after %d attempts: %v, want three and SQLSTATE 40001", runs, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		runs = 0
		err = kvpg.RunTx(ctx, repeatable, func(ctx context.Context, tx kvpg.Tx) error {
			err := failing(ctx, tx)
			if runs == 2 {
				cancel()
			}
			return err
		}, nil)
		if state(err) != "40001" || !errors.Is(err, context.Canceled) || runs != 2 {
			t.Errorf("after %d attempts: %v, want two, SQLSTATE 40001 and the context's error", runs, err)
		}
		if got := effects(t, db); got != "other" {
			t.Errorf("effects: %q", got)
		}
		nothingOpen(t, db)
	})
}

// nothingOpen: no session is left in a transaction. A session that ends is given the time for it.
func nothingOpen(t *testing.T, db *testdb.DB) {
	t.Helper()
	watch := db.Conn(t)
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for limit := time.After(15 * time.Second); ; {
		if n := ask[int64](t, watch, `select count(*) from pg_stat_activity where datname = current_database()
			and state like 'idle in transaction%'`); n == 0 {
			return
		}
		select {
		case <-poll.C:
		case <-limit:
			t.Fatal("a transaction is left open")
		}
	}
}

// TestRunTxRollsBack: a failure, a panic, and a context that ends before COMMIT leave neither an effect nor a transaction.
func TestRunTxRollsBack(t *testing.T) {
	t.Parallel()
	ends := map[string]func(cancel func()) error{
		"error":         func(func()) error { return errEffect },
		"panic":         func(func()) error { panic(errEffect) },
		"context ended": func(cancel func()) error { cancel(); return nil },
	}
	want := map[string]error{"error": errEffect, "context ended": context.Canceled}
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		for name, end := range ends {
			ctx, cancel := context.WithCancel(t.Context())
			var err error
			panicked := func() (p any) {
				defer func() { p = recover() }()
				err = kvpg.RunTx(ctx, handle, func(ctx context.Context, tx kvpg.Tx) error {
					if _, err := write(tx, "undone")(ctx); err != nil {
						return err
					}
					return end(cancel)
				}, nil)
				return nil
			}()
			cancel()
			if !errors.Is(err, want[name]) || errors.Is(err, kvpg.ErrCommitUnknown) || want[name] == nil && panicked != any(errEffect) {
				t.Errorf("%s: got %v and panic %v", name, err, panicked)
			}
			nothingOpen(t, db)
			if got := effects(t, db); got != "" {
				t.Errorf("%s: effects: %q", name, got)
			}
		}
	})
}

// TestRunTxDeferredConstraint: what COMMIT itself refuses is not committed, for certain.
func TestRunTxDeferredConstraint(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		db.Exec(t, `create table public.parent (id int primary key);
			create table public.child (id int references public.parent deferrable initially deferred)`)
		runs := 0
		err := kvpg.RunTx(t.Context(), handle, func(ctx context.Context, tx kvpg.Tx) error {
			runs++
			_, err := tx.Exec(ctx, `insert into public.child values (1)`)
			return err
		}, nil)
		if state(err) != "23503" || errors.Is(err, kvpg.ErrCommitUnknown) || runs != 1 {
			t.Errorf("got %v after %d runs, want SQLSTATE 23503", err, runs)
		}
		var e *kvpg.Error
		if !errors.As(err, &e) || e.SQLState != "23503" {
			t.Errorf("got %T, want a *kvpg.Error", err)
		}
	})
}

// TestRunTxSessionTerminated: a session that ends between the function and COMMIT. The client can't tell this from one that ends
// right behind the commit, so it is unknown, and with the same key it runs again.
func TestRunTxSessionTerminated(t *testing.T) {
	t.Parallel()
	for name, connect := range handles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			watch, runs := db.Conn(t), 0
			book := func(handle beginner) (kvpg.OnceResult, error) {
				return kvpg.OnceTx(t.Context(), handle, space, key, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
					runs++
					return write(tx, "effect")(ctx)
				}, nil)
			}
			ended := kvpg.BeginFunc[kvpg.Tx](func(ctx context.Context) (kvpg.Tx, error) {
				tx, err := connect(t, db).Begin(ctx)
				return endsBeforeCommit{tx, func() {
					if !ask[bool](t, watch, `select pg_terminate_backend($1, 10000)`, int32(pid(t, tx))) {
						t.Error("the session has not ended")
					}
				}}, err
			})
			if _, err := book(ended); !errors.Is(err, kvpg.ErrCommitUnknown) || runs != 1 {
				t.Errorf("got %v after %d runs, want ErrCommitUnknown after one", err, runs)
			}
			if r, err := book(connect(t, db)); err != nil || r.Replayed || runs != 2 {
				t.Errorf("again: got %+v, %v after %d runs", r, err, runs)
			}
			if got := effects(t, db); got != "effect" {
				t.Errorf("effects: %q", got)
			}
		})
	}
}

// endsBeforeCommit is a transaction whose session ends when COMMIT is about to be sent.
type endsBeforeCommit struct {
	kvpg.Tx
	end func()
}

func (tx endsBeforeCommit) Commit(ctx context.Context) error {
	tx.end()
	return tx.Tx.Commit(ctx)
}
