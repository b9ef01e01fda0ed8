package kvpg_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

var errEffect = errors.New("the effect failed")

// failures are the ways in which a function of Once can fail after it has written, and what its caller then sees.
var failures = map[string]struct {
	fn func(ctx context.Context, cancel func(), tx pgx.Tx) ([]byte, error)
	// want is the error of Once; nil for a panic
	want error
}{
	"error": {func(context.Context, func(), pgx.Tx) ([]byte, error) { return nil, errEffect }, errEffect},
	"error with the context cancelled": {func(_ context.Context, cancel func(), _ pgx.Tx) ([]byte, error) {
		cancel()
		return nil, errEffect
	}, errEffect},
	"context cancelled, and no error": {func(_ context.Context, cancel func(), _ pgx.Tx) ([]byte, error) {
		cancel()
		return []byte("done"), nil
	}, context.Canceled},
	"panic": {func(context.Context, func(), pgx.Tx) ([]byte, error) { panic(errEffect) }, nil},
	"error in a statement": {func(ctx context.Context, _ func(), tx pgx.Tx) ([]byte, error) {
		if _, err := tx.Exec(ctx, `select 1 / 0`); err == nil {
			return nil, errors.New("no error")
		}
		return nil, errEffect
	}, errEffect},
}

// TestOnceFailureCannotBeCommitted is the promise of Once: a caller who swallows the error and commits has committed nothing.
func TestOnceFailureCannotBeCommitted(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	database.Exec(t, `create table public.effect (what text not null)`)
	for name, failure := range failures {
		for _, mode := range modes {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				ns := freshSpace()
				tx := begin(t, database.Conn(t, func(c *pgx.ConnConfig) { c.DefaultQueryExecMode = mode }))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				panicked, err := swallow(func() error {
					_, err := kvpg.Once(ctx, tx, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
						if _, err := tx.Exec(ctx, `insert into public.effect values ($1)`, ns.String()); err != nil {
							return nil, err
						}
						return failure.fn(ctx, cancel, tx)
					}, nil)
					return err
				})
				if failure.want == nil && panicked != any(errEffect) || failure.want != nil && !errors.Is(err, failure.want) {
					t.Errorf("got %v and panic %v, want %v", err, panicked, failure.want)
				}
				if err := tx.Commit(t.Context()); !errors.Is(err, pgx.ErrTxCommitRollback) {
					t.Errorf("commit gave %v, want pgx.ErrTxCommitRollback", err)
				}
				nothingCommitted(t, database, ns)
			})
		}
	}
}

// TestOnceFailureWithOpenRows: the connection is busy, so the server can't be asked to abort, and would commit once the rows are
// closed. Once rolls back itself.
func TestOnceFailureWithOpenRows(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	database.Exec(t, `create table public.effect (what text not null)`)
	ctx, ns := t.Context(), freshSpace()
	tx := begin(t, database.Conn(t))
	var rows pgx.Rows
	_, err := kvpg.Once(ctx, tx, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
		_, err := tx.Exec(ctx, `insert into public.effect values ($1)`, ns.String())
		if err == nil {
			rows, err = tx.Query(ctx, `select 1`) //nolint:sqlclosecheck // that it stays open is the case
		}
		return nil, errors.Join(errEffect, err)
	}, nil)
	if !errors.Is(err, errEffect) {
		t.Errorf("got %v", err)
	}
	rows.Close()
	if err := tx.Commit(ctx); err == nil {
		t.Error("commit succeeded")
	}
	nothingCommitted(t, database, ns)
}

// nothingCommitted checks that neither the effect nor the marker is there, and that the key is free.
func nothingCommitted(t *testing.T, database *testdb.DB, ns kvpg.Namespace) {
	t.Helper()
	conn := database.Conn(t)
	var rows int
	if err := conn.QueryRow(t.Context(), `select count(*) from public.effect where what = $1`, ns.String()).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if _, found, err := kvpg.Get(t.Context(), conn, ns, "k"); rows != 0 || found || err != nil {
		t.Errorf("%d rows of the effect, marker %v, %v: want nothing", rows, found, err)
	}
	r := must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), begin(t, conn), ns, "k", time.Hour, returning([]byte("next")), nil))
	if r.Replayed {
		t.Error("the key was not free")
	}
}

func swallow(f func() error) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, f()
}

// TestOnceFailureCannotBeReleased is the same promise for a savepoint.
func TestOnceFailureCannotBeReleased(t *testing.T) {
	t.Parallel()
	eachTx(t, func(t *testing.T, outer pgx.Tx) {
		ctx, ns := t.Context(), freshSpace()
		savepoint := begin(t, outer)
		_, err := kvpg.Once(ctx, savepoint, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
			_, err := kvpg.Put(ctx, savepoint, ns, "effect", 1, kvpg.Forever(), nil)
			return nil, errors.Join(errEffect, err)
		}, nil)
		if !errors.Is(err, errEffect) {
			t.Fatalf("got %v", err)
		}
		if err := savepoint.Commit(ctx); err == nil {
			t.Error("the savepoint was released")
		}
	})
}

func TestOnceRollbackToSavepointFreesTheKey(t *testing.T) {
	t.Parallel()
	eachTx(t, func(t *testing.T, outer pgx.Tx) {
		ctx, ns := t.Context(), freshSpace()
		must[kvpg.Verdict](t)(kvpg.Put(ctx, outer, ns, "outer", 1, kvpg.Forever(), nil))
		savepoint := begin(t, outer)
		if _, err := kvpg.Once(ctx, savepoint, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
			_, err := kvpg.Put(ctx, savepoint, ns, "effect", 1, kvpg.Forever(), nil)
			return nil, errors.Join(errEffect, err)
		}, nil); !errors.Is(err, errEffect) {
			t.Fatalf("got %v", err)
		}
		if err := savepoint.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		slots := must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, outer, ns, []string{"outer", "effect"}))
		if !slots[0].Found || slots[1].Found {
			t.Errorf("got %+v, want what was before the savepoint, and only that", slots)
		}
		if r := must[kvpg.OnceResult](t)(kvpg.Once(ctx, outer, ns, "k", time.Hour, returning(nil), nil)); r.Replayed {
			t.Error("the key was not free")
		}
	})
}
