package install_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// owner is a connection of a role that may create in its database, and nothing else: not even
// see the schema public.
func owner(t *testing.T, db *testdb.DB) (conn *pgx.Conn, role string) {
	t.Helper()
	role = db.Role(t)
	db.Exec(t, "grant create on database "+db.Name+" to "+role+"; revoke all on schema public from public")
	return db.ConnAs(t, role), role
}

func TestOwnerWithCreateAlone(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		db := testdb.New(t, &testdb.Options{Empty: true})
		conn, role := owner(t, db)
		must(t, w.run(t.Context(), conn))
		fill(t, conn)
		if strays := value[int](t, conn, `select count(*) from pg_class where relowner = $1::text::regrole
			and relnamespace not in ('queen'::regnamespace, 'pg_toast'::regnamespace)`, role); strays != 0 {
			t.Errorf("%d relations outside the schema queen", strays)
		}

		// Once the schema is its own, it needs no right on the database.
		db.Exec(t, "revoke create on database "+db.Name+" from "+role)
		before := list(t, conn)
		for _, again := range []way{install, dist} {
			must(t, again.run(t.Context(), conn))
		}
		must(t, w.run(t.Context(), conn))
		same(t, "the schema", before, list(t, conn))
	})
}

func TestWithoutCreateIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		db := testdb.New(t, &testdb.Options{Empty: true})
		conn := db.ConnAs(t, db.Role(t))
		err := w.run(t.Context(), conn)
		refused(t, err, "42501")
		if w.name != "dist" && !strings.Contains(err.Error(), "GRANT CREATE ON DATABASE") {
			t.Errorf("no remedy in %q", err)
		}
		if value[bool](t, conn, "select to_regnamespace('queen') is not null") {
			t.Error("the schema was made")
		}
	})
}

// The database's collation makes no difference to what is installed.
func TestICUDatabase(t *testing.T) {
	t.Parallel()
	if testdb.ServerMajor(t) < 15 {
		testdb.NotRun(t, "PostgreSQL 14 has no ICU-collated databases")
	}
	want := list(t, testdb.New(t, nil).Conn(t))
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, &testdb.Options{Empty: true, ICU: true})
			conn := db.Conn(t)
			must(t, w.run(t.Context(), conn))
			same(t, "the schema", want, list(t, conn))
			fill(t, conn)
		})
	}
}

// Names are bound to pg_catalog, whatever stands ahead of it in the installer's path.
func TestHostileSearchPath(t *testing.T) {
	t.Parallel()
	want := list(t, testdb.New(t, nil).Conn(t))
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			db, conn := empty(t)
			db.Exec(t, `create schema evil;
				create function evil.clock_timestamp() returns timestamptz language sql as 'select timestamptz ''1999-01-01''';
				create function evil.octet_length(text) returns int language sql as 'select 0';
				create function evil.eq(text, text) returns boolean language sql as 'select false';
				create operator evil.= (leftarg = text, rightarg = text, function = evil.eq);
				create domain evil.uuid as text`)
			_, err := conn.Exec(t.Context(), "set search_path = evil, pg_catalog")
			must(t, err)
			must(t, w.run(t.Context(), conn))
			_, err = conn.Exec(t.Context(), "reset search_path")
			must(t, err)
			same(t, "the schema", want, list(t, conn))
		})
	}
}
