// Package sql tests the functions of sql/ one by one, and what no case of tests/conformance can
// say: plans, sizes, rights, clocks.
package sql

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A check is an expression of SQL and the text that it must have: "NULL" for SQL NULL, the
// SQLSTATE and the MESSAGE for an error.
type check struct{ expression, want string }

// checkAll evaluates each expression in a statement of its own, as a subtest.
func checkAll(t *testing.T, checks []check) {
	t.Helper()
	conn := testdb.New(t, nil).Conn(t)
	for _, c := range checks {
		t.Run(c.expression, func(t *testing.T) {
			if got := evaluate(t.Context(), conn, c.expression); got != c.want {
				t.Errorf("%s\n  want %s\n  got  %s", c.expression, c.want, got)
			}
		})
	}
}

type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// evaluate is the text of an expression, with the rules of [check].
func evaluate(ctx context.Context, q queryer, expression string, args ...any) string {
	var got *string
	err := q.QueryRow(ctx, "select ("+expression+")::text", args...).Scan(&got)
	switch {
	case err != nil:
		return failure(err)
	case got == nil:
		return "NULL"
	}
	return *got
}

// failure is the SQLSTATE and the MESSAGE of an error of the server.
func failure(err error) string {
	var raised *pgconn.PgError
	if errors.As(err, &raised) {
		return raised.Code + " " + raised.Message
	}
	return err.Error()
}

// must fails the test when err is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scan reads the one row of a query.
func scan(t *testing.T, q queryer, sql string, args []any, into ...any) {
	t.Helper()
	if err := q.QueryRow(t.Context(), sql, args...).Scan(into...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// apply is kv_apply_v1 at p_now.
func apply(ctx context.Context, q queryer, ops, now string) string {
	return evaluate(ctx, q, "queen.kv_apply_v1($1::jsonb, p_now => $2::timestamptz)", ops, now)
}

// put is an op that writes the value 1 for ever.
func put(key string) string {
	return `{"op": "put", "ns": "n", "key": ` + quoteJSON(key) + `, "value": 1, "forever": true}`
}
