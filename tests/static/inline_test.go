package static

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// notInlined are SQL functions that need not be.
var notInlined = map[string]string{
	"kv_level_functions_v1": "is called by kv_grant_v1 alone",
}

// Every SQL function is gone from the plan when its arguments are columns: with a declared volatility that its body doesn't
// keep (immutable over something stable), an argument cast, or a SET clause it would silently stay, and cost a hundred times
// as much a call.
func TestSQLFunctionsAreInlined(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	all := texts(t, conn, `select p.proname::text from pg_proc as p join pg_language as l on l.oid = p.prolang
		where p.pronamespace = 'queen'::regnamespace and l.lanname = 'sql' order by 1`)
	if len(all) < 30 {
		t.Errorf("%d SQL functions: %v", len(all), all)
	}
	for _, name := range all {
		if notInlined[name] != "" {
			continue
		}
		plan := planOf(t, conn, name)
		if left := calls(t, conn, plan); len(left) > 0 {
			t.Errorf("%s: %v are not inlined:\n%s", name, left, plan)
		}
	}
}

func TestInliningBites(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for _, create := range []string{
		"create function queen.kv_broken_v1(p_a text) returns text language sql immutable begin atomic select to_char(p_a::numeric, '9') || now(); end",
		"create function queen.kv_broken_v1(p_a text) returns text language sql immutable strict begin atomic select coalesce(p_a, ''); end",
		"create function queen.kv_broken_v1(p_a text) returns text language sql immutable set search_path = '' begin atomic select p_a; end",
		"create function queen.kv_broken_v1(p_a text) returns setof text language sql volatile begin atomic select p_a; end",
		// inlined itself, over one that is not
		`create or replace function queen.kv_time_v1(p_time timestamptz) returns text language sql immutable begin atomic
			select to_char(p_time at time zone 'UTC', 'YYYY'); end;
		 create function queen.kv_broken_v1(p_a timestamptz) returns text language sql immutable begin atomic select queen.kv_time_v1(p_a); end`,
	} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), create); err != nil {
			t.Fatal(err)
		}
		plan := planOf(t, tx, "kv_broken_v1")
		if len(calls(t, tx, plan)) == 0 {
			t.Errorf("%s\nis inlined:\n%s", create, plan)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// calls are the SQL functions that the text of EXPLAIN VERBOSE still calls; one in PL/pgSQL is always a call.
func calls(t *testing.T, q querier, plan string) []string {
	t.Helper()
	return texts(t, q, `select p.proname::text from pg_proc as p join pg_language as l on l.oid = p.prolang
		where p.pronamespace = 'queen'::regnamespace and l.lanname = 'sql' and strpos($1, 'queen.' || p.proname || '(') > 0 order by 1`, plan)
}

// planOf is the plan of a call with columns for arguments: in FROM when the function gives rows.
func planOf(t *testing.T, q querier, name string) string {
	t.Helper()
	types := texts(t, q, `select format_type(a.type, null) from pg_proc as p, unnest(p.proargtypes::oid[]) with ordinality as a (type, position)
		where p.oid = ('queen.' || $1)::regproc order by a.position`, name)
	columns, nulls := make([]string, len(types)), make([]string, len(types))
	for i, typ := range types {
		columns[i] = fmt.Sprintf("a.c%d", i)
		nulls[i] = fmt.Sprintf("null::%s as c%d", typ, i)
	}
	from := "(select " + strings.Join(append(nulls, "1 as n"), ", ") + " offset 0) as a" // fenced, or the columns were constants
	call := "queen." + name + "(" + strings.Join(columns, ", ") + ")"
	sql := "select " + call + " from " + from
	if len(texts(t, q, "select 'rows' from pg_proc as p where p.oid = ('queen.' || $1)::regproc and p.proretset", name)) > 0 {
		sql = "select r from " + from + ", " + call + " as r"
	}
	return strings.Join(texts(t, q, "explain (verbose, costs off) "+sql, pgx.QueryExecModeSimpleProtocol), "\n")
}
