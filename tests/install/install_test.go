// Package install_test installs the schema in every way, and in the circumstances of section 3
// of the design and of the README: again, many at once, over data, beside others, by an owner
// with few rights, and where it must be refused.
package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/catalog"
	"github.com/queenkv/queenkv/tests/testdb"
	"github.com/queenkv/queenkv/tests/textdiff"
	"github.com/queenkv/queenkv/tests/verify"
)

// A way is one of the ways to install.
type way struct {
	name string
	run  func(ctx context.Context, conn *pgx.Conn) error
}

var (
	install = way{"install", func(ctx context.Context, conn *pgx.Conn) error { return queenkv.Install(ctx, conn, nil) }}
	migrate = way{"migrate", func(ctx context.Context, conn *pgx.Conn) error { return queenkv.Migrate(ctx, conn, nil) }}
	dist    = way{"dist", func(ctx context.Context, conn *pgx.Conn) error {
		text, err := os.ReadFile(filepath.Join("../..", verify.DistPath))
		if err != nil {
			return err
		}
		if _, err = conn.Exec(ctx, string(text)); err != nil {
			// The file leaves a failed transaction to the client, whose disconnect ends it.
			_, rollbackErr := conn.Exec(ctx, "rollback")
			return errors.Join(err, rollbackErr)
		}
		return nil
	}}
	ways = []way{install, migrate, dist}
)

// each runs f as a parallel subtest for every way.
func each(t *testing.T, f func(t *testing.T, w way)) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused asserts the SQLSTATE.
func refused(t *testing.T, err error, state string) {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != state {
		t.Fatalf("error %v, want SQLSTATE %s", err, state)
	}
}

func list(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	text, err := catalog.List(t.Context(), conn)
	must(t, err)
	return text
}

func same(t *testing.T, what, before, after string) {
	t.Helper()
	diff, err := textdiff.Of("before", before, "after", after)
	must(t, err)
	if diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// value is one value of one row.
func value[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	must(t, conn.QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}

// empty is a connection to a database without the schema.
func empty(t *testing.T) (*testdb.DB, *pgx.Conn) {
	t.Helper()
	db := testdb.New(t, &testdb.Options{Empty: true})
	return db, db.Conn(t)
}
