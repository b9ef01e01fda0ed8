package install_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/testdb"
	"github.com/queenkv/queenkv/tests/verify"
)

func TestAnotherEncodingIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		conn := testdb.New(t, &testdb.Options{Empty: true, Encoding: "SQL_ASCII"}).Conn(t)
		err := w.run(t.Context(), conn)
		if err == nil {
			t.Fatal("installed in a SQL_ASCII database")
		}
		if w.name == "dist" {
			refused(t, err, "0A000") // the remedy is its hint
		} else if !strings.Contains(err.Error(), "ENCODING 'UTF8'") {
			t.Errorf("no remedy in %q", err)
		}
		if value[bool](t, conn, "select to_regnamespace('queen') is not null") {
			t.Error("the schema was made")
		}
	})
}

// A program of an older release must not put its functions over a later release's.
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	const newer = `create or replace function queen.kv_schema_version_v1() returns int
		language sql immutable parallel safe begin atomic select 2; end`
	for _, w := range []way{install, migrate} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			conn := testdb.New(t, nil).Conn(t)
			_, err := conn.Exec(t.Context(), newer)
			must(t, err)
			before := list(t, conn)
			if err := w.run(t.Context(), conn); !errors.Is(err, queenkv.ErrNewerSchema) {
				t.Errorf("error %v, want ErrNewerSchema", err)
			}
			same(t, "the schema", before, list(t, conn))
		})
	}
	t.Run("dist", func(t *testing.T) { // the SQL alone refuses too
		t.Parallel()
		conn := testdb.New(t, nil).Conn(t)
		_, err := conn.Exec(t.Context(), newer)
		must(t, err)
		before := list(t, conn)
		dist, err := os.ReadFile("../../" + verify.DistPath)
		must(t, err)
		_, err = conn.Exec(t.Context(), string(dist))
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "55000" {
			t.Errorf("error %v, want 55000", err)
		}
		_, err = conn.Exec(t.Context(), "rollback")
		must(t, err)
		same(t, "the schema", before, list(t, conn))
	})
	t.Run("a later migration", func(t *testing.T) {
		t.Parallel()
		_, conn := empty(t)
		must(t, queenkv.Migrate(t.Context(), conn, nil))
		_, err := conn.Exec(t.Context(), "update "+queenkv.VersionTable+" set version = 999")
		must(t, err)
		if err := queenkv.Migrate(t.Context(), conn, nil); !errors.Is(err, queenkv.ErrNewerSchema) {
			t.Errorf("error %v, want ErrNewerSchema", err)
		}
	})
}

func TestSchemaVersion(t *testing.T) {
	t.Parallel()
	got := value[int](t, testdb.New(t, nil).Conn(t), "select queen.kv_schema_version_v1()")
	if got != queenkv.SchemaVersion {
		t.Errorf("the schema says %d, the package %d", got, queenkv.SchemaVersion)
	}
}

// tern would begin and commit inside the caller's transaction, and so commit it.
func TestOpenTransactionIsRefused(t *testing.T) {
	t.Parallel()
	for _, w := range []way{install, migrate} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			db, conn := empty(t)
			tx, err := conn.Begin(t.Context())
			must(t, err)
			_, err = tx.Exec(t.Context(), "create table mine ()")
			must(t, err)
			if err := w.run(t.Context(), conn); err == nil || !strings.Contains(err.Error(), "open transaction") {
				t.Errorf("error %v, want one about the open transaction", err)
			}
			if value[bool](t, db.Conn(t), "select to_regclass('mine') is not null") {
				t.Error("the caller's transaction was committed")
			}
			must(t, tx.Rollback(context.WithoutCancel(t.Context())))
		})
	}
}
