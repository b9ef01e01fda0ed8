// Package once plays kvpg.Once, OnceTx and RunTx in whole transactions that meet: over pgx and database/sql, in every isolation
// level, with the winner committed, rolled back or killed, and with the errors that PostgreSQL really raises.
package once

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "github.com/lib/pq"              // the driver postgres

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// space holds a key for each test: their databases are their own.
var space = kvpg.NewNamespace("once")

const (
	key       = "key"
	retention = time.Hour
)

var errEffect = errors.New("the effect failed")

// A beginner is any handle that begins transactions.
type beginner = kvpg.Beginner[kvpg.Tx]

// over hides which handle it is.
func over[T kvpg.Tx](handle kvpg.Beginner[T]) beginner {
	return kvpg.BeginFunc[kvpg.Tx](func(ctx context.Context) (kvpg.Tx, error) { return handle.Begin(ctx) })
}

// at begins transactions at an isolation level.
func at(level string, handle beginner) beginner {
	return kvpg.BeginFunc[kvpg.Tx](func(ctx context.Context) (kvpg.Tx, error) {
		tx, err := handle.Begin(ctx)
		if err == nil {
			_, err = tx.Exec(ctx, "set transaction isolation level "+level)
		}
		return tx, err
	})
}

var levels = []string{"read committed", "repeatable read", "serializable"}

// handles are the ways to a database that differ in how they begin, commit and tell errors.
var handles = map[string]func(t *testing.T, db *testdb.DB) beginner{
	"pgxpool":                 func(t *testing.T, db *testdb.DB) beginner { return over(db.Pool(t)) },
	"pgx.Conn":                func(t *testing.T, db *testdb.DB) beginner { return over(db.Conn(t)) },
	"database/sql and pgx":    func(t *testing.T, db *testdb.DB) beginner { return over(kvpg.FromSQL(open(t, "pgx", db))) },
	"database/sql and lib/pq": func(t *testing.T, db *testdb.DB) beginner { return over(kvpg.FromSQL(open(t, "postgres", db))) },
}

func open(t *testing.T, driver string, db *testdb.DB) *sql.DB {
	t.Helper()
	pool, err := sql.Open(driver, db.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// eachHandle runs f over every handle, each with a database that has a table for effects.
func eachHandle(t *testing.T, f func(t *testing.T, db *testdb.DB, handle beginner)) {
	t.Helper()
	for name, connect := range handles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			f(t, db, connect(t, db))
		})
	}
}

// newDatabase has a table that keeps no effect from being there twice.
func newDatabase(t *testing.T) *testdb.DB {
	t.Helper()
	db := testdb.New(t, nil)
	db.Exec(t, `create table public.effect (what text not null)`)
	return db
}

func begin(t *testing.T, handle beginner) kvpg.Tx {
	t.Helper()
	tx, err := handle.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	return tx
}

func exec(t *testing.T, tx kvpg.Tx, statement string) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func commit(t *testing.T, tx kvpg.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func pid(t *testing.T, db kvpg.DB) uint32 {
	t.Helper()
	return uint32(ask[int64](t, db, `select pg_backend_pid()::bigint`))
}

// ask gives the one value of a query.
func ask[V any](t *testing.T, db kvpg.DB, query string, args ...any) (v V) {
	t.Helper()
	if err := db.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// write is an effect that returns what it wrote.
func write(tx kvpg.Tx, what string) func(ctx context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		_, err := tx.Exec(ctx, `insert into public.effect values ('`+what+`')`)
		return []byte(what), err
	}
}

// never is an effect that must not be run.
func never(t *testing.T) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		t.Error("the function ran")
		return nil, errors.New("ran")
	}
}

// run is Once for the test's key.
func run(ctx context.Context, tx kvpg.Tx, fn func(context.Context) ([]byte, error), opts *kvpg.OnceOptions) (kvpg.OnceResult, error) {
	return kvpg.Once(ctx, tx, space, key, retention, fn, opts)
}

func mustRun(t *testing.T, tx kvpg.Tx, fn func(context.Context) ([]byte, error), opts *kvpg.OnceOptions) kvpg.OnceResult {
	t.Helper()
	r, err := run(t.Context(), tx, fn, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// effects are what is committed, in order.
func effects(t *testing.T, db *testdb.DB) string {
	t.Helper()
	return ask[string](t, db.Pool(t), `select coalesce(string_agg(what, ' ' order by what), '') from public.effect`)
}

// isFree checks that the key's function would run now, at once.
func isFree(t *testing.T, db *testdb.DB) {
	t.Helper()
	tx := begin(t, over(db.Pool(t)))
	r, err := run(t.Context(), tx, func(context.Context) ([]byte, error) { return nil, nil }, &kvpg.OnceOptions{Busy: true})
	if err != nil || r.Replayed {
		t.Errorf("the key is not free: %+v, %v", r, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}

// a call runs in the background.
type call struct {
	tx     kvpg.Tx
	pid    uint32
	done   chan struct{}
	result kvpg.OnceResult
	err    error
}

// background begins a transaction with Once in it, and returns when the database shows it waiting for a lock.
func background(t *testing.T, db *testdb.DB, handle beginner, fn func(tx kvpg.Tx) func(context.Context) ([]byte, error)) *call {
	t.Helper()
	tx := begin(t, handle)
	c := &call{tx: tx, pid: pid(t, tx), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.result, c.err = run(t.Context(), tx, fn(tx), nil)
	}()
	testdb.WaitForLock(t, db, c.pid)
	return c
}

// returned waits for the call's end; the limit is only there so that no failure hangs.
func (c *call) returned(t *testing.T) {
	t.Helper()
	await(t, c.done)
}

func await[V any](t *testing.T, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("it is still waiting")
		panic("not reached")
	}
}

// state is the SQLSTATE of an error, of whatever driver.
func state(err error) string {
	var sent interface{ SQLState() string }
	if errors.As(err, &sent) {
		return sent.SQLState()
	}
	return ""
}
