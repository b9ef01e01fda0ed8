// Package kvpg_test plays the driver against a database where one handle will do: two sessions that wait for each other, every
// code of the server, plans. Package tests/handles runs every operation over every handle.
package kvpg_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
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
