package once

import (
	"context"
	"errors"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestOnceTxReplaysAfterRetry: a duplicate that waited gets the result in READ COMMITTED, and 40001 above it: then OnceTx tries
// again, and the second try replays.
func TestOnceTxReplaysAfterRetry(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		for _, level := range levels {
			db.Exec(t, `delete from public.effect; delete from queen.kv`)
			first := begin(t, at(level, over(db.Conn(t))))
			mustRun(t, first, write(first, "first"), nil)
			backend := make(chan uint32, 10)
			begun := kvpg.BeginFunc[kvpg.Tx](func(ctx context.Context) (kvpg.Tx, error) {
				tx, err := at(level, handle).Begin(ctx)
				if err == nil {
					backend <- pid(t, tx)
				}
				return tx, err
			})
			done := make(chan error, 1)
			var r kvpg.OnceResult
			go func() {
				var err error
				r, err = kvpg.OnceTx(t.Context(), begun, space, key, retention, func(context.Context, kvpg.Tx) ([]byte, error) {
					t.Error("the function ran")
					return nil, nil
				}, nil)
				done <- err
			}()
			testdb.WaitForLock(t, db, await(t, backend))
			commit(t, first)
			if err := await(t, done); err != nil || string(r.Result) != "first" || !r.Replayed {
				t.Errorf("%s: got %+v, %v", level, r, err)
			}
			retries, want := len(backend), 1
			if level == "read committed" {
				want = 0
			}
			if retries != want {
				t.Errorf("%s: %d retries, want %d", level, retries, want)
			}
		}
	})
}

// TestOnceTxCommits: a result and a stored error are committed when OnceTx returns; any other error leaves nothing.
func TestOnceTxCommits(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		call := func(name string, fail error, opts *kvpg.OnceOptions) (kvpg.OnceResult, error) {
			return kvpg.OnceTx(t.Context(), handle, space, name, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
				result, err := write(tx, name)(ctx)
				return result, errors.Join(fail, err)
			}, opts)
		}
		for i := range 2 {
			if r, err := call("good", nil, nil); err != nil || string(r.Result) != "good" || r.Replayed != (i == 1) {
				t.Errorf("good, call %d: got %+v, %v", i, r, err)
			}
			if r, err := call("bad", errEffect, nil); !errors.Is(err, errEffect) || r.Result != nil {
				t.Errorf("bad, call %d: got %+v, %v", i, r, err)
			}
			_, err := call("stored", errEffect, &kvpg.OnceOptions{StoreError: func(error) ([]byte, bool) { return []byte("\x00no"), true }})
			var stored *kvpg.OnceStoredError
			if !errors.As(err, &stored) || string(stored.Stored) != "\x00no" || stored.Replayed != (i == 1) || errors.Is(err, errEffect) != (i == 0) {
				t.Errorf("stored, call %d: got %v", i, err)
			}
		}
		if got := effects(t, db); got != "good" {
			t.Errorf("effects: %q", got)
		}
	})
}

// TestOnceTxReturnsAnotherOnesStoredError: a stored error that the function got from another Once and passes on is a failure of its
// own: nothing of it is committed.
func TestOnceTxReturnsAnotherOnesStoredError(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	pool := over(db.Pool(t))
	_, err := kvpg.OnceTx(t.Context(), pool, space, key, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
		if _, err := write(tx, "outer")(ctx); err != nil {
			return nil, err
		}
		_, err := kvpg.Once(ctx, tx, space, "inner", retention, func(context.Context) ([]byte, error) { return nil, errEffect },
			&kvpg.OnceOptions{StoreError: func(error) ([]byte, bool) { return nil, true }})
		return nil, err
	}, nil)
	if !errors.Is(err, errEffect) {
		t.Errorf("got %v", err)
	}
	if got := effects(t, db); got != "" {
		t.Errorf("effects: %q", got)
	}
	isFree(t, db)
}

// TestReentry: the same key again inside its own function is refused, whatever the options, and the transaction goes on. Another
// key is welcome.
func TestReentry(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		_, err := kvpg.OnceTx(t.Context(), handle, space, key, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
			for _, opts := range []*kvpg.OnceOptions{
				nil, {Busy: true}, {Fingerprint: []byte("another")}, {StoreError: func(error) ([]byte, bool) { return nil, true }},
			} {
				if _, err := run(ctx, tx, never(t), opts); !errors.Is(err, kvpg.ErrOnceReentry) {
					t.Errorf("%+v: got %v, want reentry", opts, err)
				}
			}
			r, err := kvpg.Once(ctx, tx, space, "inner", retention, write(tx, "inner"), nil)
			return r.Result, err
		}, nil)
		if err != nil {
			t.Error(err)
		}
		if got := effects(t, db); got != "inner" {
			t.Errorf("effects: %q", got)
		}
	})
}

// TestUnfinished: a function that commits by itself leaves an effect without a result. It is never run again, until the key is
// deleted.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		_, err := kvpg.OnceTx(t.Context(), handle, space, key, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
			result, err := write(tx, "committed")(ctx)
			return result, errors.Join(err, tx.Commit(ctx))
		}, nil)
		if err == nil {
			t.Error("no error")
		}
		again := func(opts *kvpg.OnceOptions) (kvpg.OnceResult, error) {
			return kvpg.OnceTx(t.Context(), handle, space, key, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
				return write(tx, "again")(ctx)
			}, opts)
		}
		for _, opts := range []*kvpg.OnceOptions{nil, {Busy: true}, {Fingerprint: []byte("another")}} {
			if _, err := again(opts); !errors.Is(err, kvpg.ErrOnceUnfinished) {
				t.Errorf("%+v: got %v, want unfinished", opts, err)
			}
		}
		if _, err := kvpg.Delete(t.Context(), db.Pool(t), space, key, nil); err != nil {
			t.Fatal(err)
		}
		if r, err := again(nil); err != nil || r.Replayed {
			t.Errorf("after the delete: got %+v, %v", r, err)
		}
		if got := effects(t, db); got != "again committed" {
			t.Errorf("effects: %q", got)
		}
	})
}
