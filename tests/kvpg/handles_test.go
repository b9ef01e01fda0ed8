// Package kvpg_test plays the driver against a database: every operation over every handle in every execution mode.
package kvpg_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

var space = kvpg.NewNamespace("driver")

// freshSpace is a namespace that no other test sees, in whatever database.
func freshSpace() kvpg.Namespace {
	var tenant [16]byte
	_, _ = rand.Read(tenant[:])
	return space.For(tenant)
}

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// sessions are what a session may have set that changes how values are written as text.
var sessions = map[string]map[string]string{
	"plain session": {},
	"odd session":   {"TimeZone": "Asia/Kathmandu", "DateStyle": "SQL, DMY", "bytea_output": "escape", "extra_float_digits": "0"},
}

// eachHandle runs f with a pgx.Tx, a *pgx.Conn and a *pgxpool.Pool in each of the modes and sessions, on one database.
func eachHandle(t *testing.T, f func(t *testing.T, db kvpg.DB)) {
	t.Helper()
	database := testdb.New(t, nil)
	for session, settings := range sessions {
		for _, mode := range modes {
			configure := func(c *pgx.ConnConfig) {
				c.DefaultQueryExecMode = mode
				for name, value := range settings {
					c.RuntimeParams[name] = value
				}
			}
			name := "/" + mode.String() + "/" + session
			t.Run("Tx"+name, func(t *testing.T) {
				t.Parallel()
				f(t, begin(t, database.Conn(t, configure)))
			})
			t.Run("Conn"+name, func(t *testing.T) {
				t.Parallel()
				f(t, database.Conn(t, configure))
			})
			t.Run("Pool"+name, func(t *testing.T) {
				t.Parallel()
				f(t, database.Pool(t, func(c *pgxpool.Config) {
					c.MaxConns = 1
					configure(c.ConnConfig)
				}))
			})
		}
	}
}

// begin gives a transaction that the end of the test rolls back.
func begin(t *testing.T, db interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}) pgx.Tx {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	return tx
}

// must gives the result of a call that has to succeed.
func must[T any](t *testing.T) func(T, error) T {
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}
