package conformance

import (
	_ "embed"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/testdb"
)

//go:embed hostile.sql
var hostileSchema string

// TestHostileSearchPath installs, grants and plays with a schema ahead of pg_catalog that holds
// all of its functions, aggregates and operators once more, and each of them raises.
func TestHostileSearchPath(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, &testdb.Options{Empty: true})
	owner := db.Conn(t)
	if _, err := owner.Exec(t.Context(), hostileSchema); err != nil {
		t.Fatal(err)
	}
	path := settings(map[string]string{"search_path": "hostile, pg_catalog"})
	victim := db.Conn(t, path)
	mustBeHostile(t, victim.PgConn())
	sql, err := queenkv.SQL(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.PgConn().Exec(t.Context(), "begin; "+sql+"; commit").Close(); err != nil {
		t.Fatalf("installing: %v", err)
	}
	role := db.Role(t)
	if err := victim.PgConn().Exec(t.Context(), "select queen.kv_grant_v1('"+role+"'::pg_catalog.regrole, 'writer')").Close(); err != nil {
		t.Fatalf("granting: %v", err)
	}
	playAll(t, &Player{Conn: db.ConnAs(t, role, path).PgConn(), State: db.Conn(t).PgConn()})
}

// mustBeHostile fails the test when the schema stands in for nothing.
func mustBeHostile(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	for _, expression := range []string{
		"now()", "clock_timestamp()", "statement_timestamp()", "1 = 1", "1 <> 1", "1 < 1", "1 + 1", "1 - 1",
		"text 'a' = 'a'", "text 'a' >= 'a'", "text 'a' || 'a'", "text 'a' ~ 'a'", "octet_length(text 'a')", "left(text 'a', 1)",
		"starts_with(text 'a', 'a')", "chr(1)", "ascii(text 'a')", "repeat(text 'a', 2)", "length(text 'a')", "substr(text 'a', 1)",
		"to_jsonb(1)", "jsonb_typeof(jsonb '1')", "jsonb_array_length(jsonb '[]')", "jsonb '{}' -> 'a'", "jsonb '[]' -> 0",
		"jsonb '{}' ->> 'a'", "jsonb '{}' ? 'a'", "jsonb '{}' || '{}'", "jsonb '{}' @> '{}'", "jsonb '{}' = '{}'", "jsonb '{}' - 'a'",
		"trunc(numeric '1', 1)", "trim_scale(numeric '1')", "numeric '1' + 1", "bigint '1' = 1", "nextval('pg_class'::regclass)",
		"now() > now()", "max(1)", "array_agg(1)", "sum(bigint '1')", "jsonb_agg(1)", "unnest('{1}'::int[])", "cardinality('{}'::int[])",
		"to_char(now(), text 'YYYY')", "pg_current_xact_id()", "hashtextextended(text 'a', 0)", "sha256(bytea 'a')",
	} {
		var raised *pgconn.PgError
		// The types are named in full: those of the schema hold nothing, and would raise first.
		sql := "select " + qualified.Replace(expression)
		if err := conn.Exec(t.Context(), sql).Close(); !errors.As(err, &raised) || raised.Message != "hostile" {
			t.Fatalf("the hostile schema has no hold on %s: %v", expression, err)
		}
	}
}

var qualified = strings.NewReplacer("text '", "pg_catalog.text '", "jsonb '", "pg_catalog.jsonb '", "bytea '", "pg_catalog.bytea '")
