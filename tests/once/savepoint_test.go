package once

import (
	"context"
	"errors"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestSavepointRolledBack: a rollback to a savepoint from before Once undoes marker and effect and frees the key, for others
// at once; the outer transaction goes on, runs it anew, and commits that.
func TestSavepointRolledBack(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		for name, opts := range map[string]*kvpg.OnceOptions{
			"plain": nil, "in a savepoint of its own": {StoreError: func(error) ([]byte, bool) { return nil, true }},
		} {
			db.Exec(t, `delete from public.effect; delete from queen.kv`)
			tx := begin(t, handle)
			exec(t, tx, `insert into public.effect values ('outer')`)
			exec(t, tx, `savepoint attempt`)
			mustRun(t, tx, write(tx, "undone"), opts)
			exec(t, tx, `rollback to savepoint attempt`)
			isFree(t, db)
			if r := mustRun(t, tx, write(tx, "kept"), opts); r.Replayed {
				t.Errorf("%s: replayed what is undone", name)
			}
			exec(t, tx, `release savepoint attempt`)
			commit(t, tx)
			if got := effects(t, db); got != "kept outer" {
				t.Errorf("%s: effects: %q", name, got)
			}
			again := begin(t, handle)
			if r := mustRun(t, again, never(t), nil); string(r.Result) != "kept" {
				t.Errorf("%s: replayed %q", name, r.Result)
			}
			commit(t, again)
		}
	})
}

// TestNestedTransactions is the same with pgx's own nested transactions, and with Once in Once: the inner key is rolled back, the
// outer one commits.
func TestNestedTransactions(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	ctx := t.Context()
	outer, err := db.Pool(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = outer.Rollback(context.WithoutCancel(ctx)) })
	r := mustRun(t, outer, func(ctx context.Context) ([]byte, error) {
		inner, err := outer.Begin(ctx)
		if err != nil {
			return nil, err
		}
		_, err = kvpg.Once(ctx, inner, space, "inner", retention, func(ctx context.Context) ([]byte, error) {
			if _, err := write(inner, "inner")(ctx); err != nil {
				return nil, err
			}
			return nil, errEffect
		}, nil)
		if !errors.Is(err, errEffect) {
			t.Errorf("the inner one: %v", err)
		}
		if err := inner.Rollback(ctx); err != nil {
			return nil, err
		}
		return write(outer, "outer")(ctx)
	}, nil)
	if string(r.Result) != "outer" {
		t.Errorf("got %q", r.Result)
	}
	if err := outer.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := effects(t, db); got != "outer" {
		t.Errorf("effects: %q", got)
	}
	tx := begin(t, over(db.Pool(t)))
	again, err := kvpg.Once(ctx, tx, space, "inner", retention, write(tx, "inner"), &kvpg.OnceOptions{Busy: true})
	if err != nil || again.Replayed {
		t.Errorf("the inner key is not free: %+v, %v", again, err)
	}
}

// TestStoredErrorUndoesNestedOnce: an inner Once that fails leaves its savepoint behind; the outer one goes back to its own all
// the same.
func TestStoredErrorUndoesNestedOnce(t *testing.T) {
	t.Parallel()
	all := &kvpg.OnceOptions{StoreError: func(error) ([]byte, bool) { return []byte("no"), true }}
	none := &kvpg.OnceOptions{StoreError: func(error) ([]byte, bool) { return nil, false }}
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		tx := begin(t, handle)
		exec(t, tx, `insert into public.effect values ('before')`)
		_, err := run(t.Context(), tx, func(ctx context.Context) ([]byte, error) {
			if _, err := write(tx, "outer")(ctx); err != nil {
				return nil, err
			}
			_, err := kvpg.Once(ctx, tx, space, "inner", retention, func(ctx context.Context) ([]byte, error) {
				_, err := write(tx, "inner")(ctx)
				return nil, errors.Join(errEffect, err)
			}, none)
			return nil, err
		}, all)
		var stored *kvpg.OnceStoredError
		if !errors.As(err, &stored) || !errors.Is(err, errEffect) || stored.Replayed || string(stored.Stored) != "no" {
			t.Errorf("got %v", err)
		}
		commit(t, tx)
		if got := effects(t, db); got != "before" {
			t.Errorf("effects: %q, want what came before, alone", got)
		}
	})
}
