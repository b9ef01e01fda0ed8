// Package scratchtest gives a test of the examples a database of its own.
package scratchtest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/examples/internal/scratch"
)

// waitLimit bounds Until, which passes in milliseconds where all is well.
const waitLimit = 20 * time.Second

// New gives the URL of a database with the schema, which is dropped at the end of t.
func New(t testing.TB) (url string) {
	t.Helper()
	maintenance := os.Getenv("KV_TEST_DATABASE_URL")
	if maintenance == "" {
		t.Fatal("no database: run make test, or set KV_TEST_DATABASE_URL (a role with CREATEDB)")
	}
	db, err := scratch.New(t.Context(), maintenance)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Drop(); err != nil {
			t.Error(err)
		}
	})
	return db.URL
}

// Connect gives a connection that is closed at the end of t.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// Until waits until a query, which gives one boolean, gives true. A wait in vain fails the test.
func Until(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for holds := false; !holds; <-poll.C {
		if err := conn.QueryRow(ctx, sql, args...).Scan(&holds); err != nil {
			t.Fatalf("waiting for %s: %v", sql, err)
		}
	}
}

// UntilBlocked waits until exactly one session of the database waits for a lock of another.
func UntilBlocked(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	Until(t, conn, `select count(*) = 1 from pg_stat_activity
		where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`)
}
