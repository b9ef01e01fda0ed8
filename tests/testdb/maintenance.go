package testdb

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	urlVariable    = "KV_TEST_DATABASE_URL"
	binVariable    = "KV_TEST_POSTGRES_BIN"
	notRunVariable = "KV_TEST_NOT_RUN"
)

// shared is this process's pool on the maintenance database, closed by the process's end.
var shared = sync.OnceValues(func() (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(os.Getenv(urlVariable))
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 8 // parallel tests make databases and poll for locks through it
	return pgxpool.NewWithConfig(context.Background(), cfg)
})

func maintenance(t testing.TB) *pgxpool.Pool {
	t.Helper()
	if os.Getenv(urlVariable) == "" {
		t.Fatal("no database: run make test, or set " + urlVariable + " (a role with CREATEDB and CREATEROLE)")
	}
	p, err := shared()
	if err != nil {
		t.Fatalf("testdb: %s: %v", urlVariable, err)
	}
	return p
}

// ServerMajor is the server's major version, as 15.
func ServerMajor(t testing.TB) int {
	t.Helper()
	var major int
	err := maintenance(t).QueryRow(t.Context(), "select current_setting('server_version_num')::int / 10000").Scan(&major)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	return major
}

// PostgresBin is the folder with initdb, pg_ctl and postgres, for a test that must stop or
// restart a server of its own (package cluster starts one). Where there is none the test is
// counted as not run.
func PostgresBin(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(binVariable)
	if dir == "" {
		NotRun(t, "no PostgreSQL binaries to start a server with")
	}
	return dir
}

// NotRun ends a test that can't run here and writes it, with the reason, to the file that
// with-postgres counts in its last line. Without that file the test fails: nothing is left
// out silently.
func NotRun(t testing.TB, reason string) {
	t.Helper()
	path := os.Getenv(notRunVariable)
	if path == "" {
		t.Fatalf("can't run here: %s (make test counts this as not run)", reason)
	}
	reason = strings.Join(strings.Fields(reason), " ") // a line each, or the count is wrong
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	_, err = f.WriteString(t.Name() + ": " + reason + "\n") // one write: other processes append too
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Skip("not run: " + reason)
}
