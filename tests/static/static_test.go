package static

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// functionRules list the functions that break a rule, as text.
var functionRules = map[string]string{
	// A caller's search_path must not choose our operators. A SQL function can't have the clause, or it is not inlined; its
	// body's names are bound at creation instead (BEGIN ATOMIC). A procedure that commits can't have it either.
	"plpgsql functions set their search_path to pg_catalog, pg_temp": `l.lanname = 'plpgsql' and p.prokind = 'f'
		and not coalesce(p.proconfig, '{}') @> '{"search_path=pg_catalog, pg_temp"}'::text[]`,
	"SQL functions have a body bound at creation, and no SET clause": `l.lanname = 'sql' and (p.prosqlbody is null or p.proconfig is not null)`,
	"functions are written in SQL or PL/pgSQL":                       `l.lanname not in ('sql', 'plpgsql')`,
	"no function is STRICT":                                          `p.proisstrict`,
	// A sweeper measures what it may not read; the function gives numbers alone, and row-level security can't cut them.
	"no function but kv_usage_step_v1 runs as its owner": `p.prosecdef
		and (p.proname <> 'kv_usage_step_v1' or p.proconfig is distinct from '{"search_path=pg_catalog, pg_temp",row_security=off}'::text[])`,
	"nothing is PUBLIC's":         `exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a where a.grantee = 0)`,
	"every function is described": `obj_description(p.oid, 'pg_proc') is null`,
	"a name has its version, and no overloads": `p.proname !~ '_v[0-9]+$'
		or (select count(*) from pg_proc as o where o.pronamespace = p.pronamespace and o.proname = p.proname) > 1`,
	"arguments are p_something": `exists (select from unnest(p.proargnames, p.proargmodes) as a (name, mode)
		where coalesce(a.mode, 'i') = 'i' and a.name !~ '^p_')`,
}

func TestFunctionRules(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for rule := range functionRules {
		if broken := breaking(t, conn, rule); len(broken) > 0 {
			t.Errorf("%s; not so %v", rule, broken)
		}
	}
}

// Each rule sees the one of these functions that breaks it.
func TestFunctionRulesBite(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	const plpgsql = "language plpgsql set search_path = pg_catalog, pg_temp as 'begin return 1; end'"
	for rule, create := range map[string]string{
		"plpgsql functions set their search_path to pg_catalog, pg_temp": "(p_a int) returns int language plpgsql set search_path = pg_catalog as 'begin return 1; end'",
		"SQL functions have a body bound at creation, and no SET clause": "(p_a int) returns int language sql as 'select 1'",
		"functions are written in SQL or PL/pgSQL":                       "(p_a bigint) returns bigint language internal as 'int8abs'",
		"no function is STRICT":                                          "(p_a int) returns int strict " + plpgsql,
		"no function but kv_usage_step_v1 runs as its owner":             "(p_a int) returns int security definer " + plpgsql,
		"nothing is PUBLIC's":                                            "(p_a int) returns int " + plpgsql,
		"every function is described":                                    "(p_a int) returns int " + plpgsql,
		"a name has its version, and no overloads":                       "(p_a int) returns int " + plpgsql,
		"arguments are p_something":                                      "(a int) returns int " + plpgsql,
	} {
		name := "kv_broken_v1"
		if rule == "a name has its version, and no overloads" {
			name = "kv_limit_v1"
		}
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "create function queen."+name+create); err != nil {
			t.Fatal(err)
		}
		if len(breaking(t, tx, rule)) == 0 {
			t.Errorf("%s: %s%s was not seen", rule, name, create)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func breaking(t *testing.T, q querier, rule string) []string {
	t.Helper()
	return texts(t, q, `select p.oid::regprocedure::text from pg_proc as p join pg_language as l on l.oid = p.prolang
		where p.pronamespace = 'queen'::regnamespace and (`+functionRules[rule]+") order by 1")
}

func texts(t *testing.T, q querier, sql string, args ...any) []string {
	t.Helper()
	rows, err := q.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return list
}
