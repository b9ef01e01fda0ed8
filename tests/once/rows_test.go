package once

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// openRows leaves the rows of a query open, so that the connection is busy and takes no statement.
func openRows(ctx context.Context, tx kvpg.Tx) (closeRows func(), err error) {
	const query = `select generate_series(1, 3)`
	if tx, ok := tx.(kvpg.SQLTx); ok {
		rows, err := tx.QueryContext(ctx, query) //nolint:sqlclosecheck,rowserrcheck // that they stay open is the case
		if err != nil {
			return nil, err
		}
		return func() { _ = rows.Close() }, nil
	}
	rows, err := tx.(pgx.Tx).Query(ctx, query) //nolint:sqlclosecheck // the same
	if err != nil {
		return nil, err
	}
	return rows.Close, nil
}

// halfWithRows writes, leaves rows open and gives failure.
func halfWithRows(tx kvpg.Tx, closeRows *func(), failure error) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		_, err := write(tx, "half")(ctx)
		if err == nil {
			*closeRows, err = openRows(ctx, tx)
		}
		return nil, errors.Join(failure, err)
	}
}

// TestFailureWithOpenRows: the server can't be told to abort, or to store the result, and who drops the error, closes the rows and commits
// has committed nothing all the same.
func TestFailureWithOpenRows(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"fails": errEffect, "ends well": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
				tx := begin(t, handle)
				closeRows := func() {}
				if _, err := run(t.Context(), tx, halfWithRows(tx, &closeRows, failure), nil); err == nil || failure != nil && !errors.Is(err, failure) {
					t.Errorf("got %v", err)
				}
				closeRows()
				if err := tx.Commit(t.Context()); err == nil {
					t.Error("the commit succeeded")
				}
				if got := effects(t, db); got != "" {
					t.Errorf("effects: %q", got)
				}
				isFree(t, db)
			})
		})
	}
}

// TestFailureWithOpenRowsInASavepoint is the same for pgx's nested transactions, which can't be rolled back then: neither the savepoint
// nor what is around it can be committed, by Once and by RunTx.
func TestFailureWithOpenRowsInASavepoint(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(ctx context.Context, outer pgx.Tx, closeRows *func()) error{
		"Once": func(ctx context.Context, outer pgx.Tx, closeRows *func()) error {
			inner, err := outer.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = run(ctx, inner, halfWithRows(inner, closeRows, errEffect), nil)
			(*closeRows)()
			if inner.Commit(ctx) == nil {
				t.Error("the savepoint was released")
			}
			return err
		},
		"RunTx": func(ctx context.Context, outer pgx.Tx, closeRows *func()) error {
			return kvpg.RunTx(ctx, kvpg.BeginFunc[pgx.Tx](outer.Begin), func(ctx context.Context, inner pgx.Tx) error {
				_, err := halfWithRows(inner, closeRows, errEffect)(ctx)
				return err
			}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			outer, err := db.Pool(t).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = outer.Rollback(context.WithoutCancel(t.Context())) })
			exec(t, outer, `insert into public.effect values ('outer')`)
			closeRows := func() {}
			if err := fail(t.Context(), outer, &closeRows); !errors.Is(err, errEffect) {
				t.Errorf("got %v", err)
			}
			closeRows()
			if err := outer.Commit(t.Context()); err == nil {
				t.Error("the commit succeeded")
			}
			if got := effects(t, db); got != "" {
				t.Errorf("effects: %q", got)
			}
			isFree(t, db)
		})
	}
}

// TestRollbackOfWhatIsOver: a transaction that is over may have given its connection to the next one, which must not lose it when RunTx
// rolls the first back.
func TestRollbackOfWhatIsOver(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	pool := db.Pool(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
	var next kvpg.Tx
	err := kvpg.RunTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := tx.Rollback(ctx); err != nil { // which fn must not do
			return err
		}
		next = begin(t, over(pool))
		return errEffect
	}, nil)
	if !errors.Is(err, errEffect) {
		t.Fatalf("got %v", err)
	}
	exec(t, next, `insert into public.effect values ('next')`)
	commit(t, next)
	if got := effects(t, db); got != "next" {
		t.Errorf("effects: %q", got)
	}
}
