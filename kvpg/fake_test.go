package kvpg

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// fakeDB answers every query with one function, so that what is sent can be looked at without a database.
type fakeDB func(ctx context.Context, sql string, args []any, dest []any) error

func (f fakeDB) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return fakeRow(func(dest []any) error { return f(ctx, sql, args, dest) })
}

type fakeRow func(dest []any) error

func (f fakeRow) Scan(dest ...any) error { return f(dest) }

// silent fails the test when anything is sent.
func silent(t *testing.T) fakeDB {
	return func(_ context.Context, sql string, _, _ []any) error {
		t.Errorf("sent: %s", sql)
		return nil
	}
}

// answering gives one text to every query.
func answering(text string) fakeDB {
	return func(_ context.Context, _ string, _, dest []any) error {
		*dest[0].(*string) = text
		return nil
	}
}
