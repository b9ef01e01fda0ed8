package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A textCall passes text columns to a function: a, b and c are columns with the collation that
// is tried, plain is one with none of its own, many is the array of a and b. Where collation
// has a say the answer differs: to kv_ci "K" is "k", and to ICU "B" comes after "a".
type textCall struct {
	function string
	a, b, c  string
	call     string
	want     string
}

// expiryOfK is the expiresAt of row k, read at its beginning, by a function that sees what the
// statement changed.
const expiryOfK = `queen.kv_apply_v1('[{"op": "get", "ns": "n", "key": "k"}]', p_now => '2020-01-01Z') -> 0 -> 'expiresAt'`

var textCalls = []textCall{
	{"kv_limit_v1", "ops", "OPS", "", "array[queen.kv_limit_v1(a), queen.kv_limit_v1(b)]", "{256,NULL}"},
	{"kv_integer_path_v1", "f", "F", "", `array['{"f": 5}' @@ queen.kv_integer_path_v1(a, 1, 5), '{"f": 5}' @@ queen.kv_integer_path_v1(b, 1, 5)]`, "{t,NULL}"},
	{"kv_prefix_end_v1", "a\U0010FFFF", "\U0010FFFF", "ß", `array[queen.kv_prefix_end_v1(a) = 'b' collate "C",
		queen.kv_prefix_end_v1(b) = repeat(chr(1114111), 513) collate "C", queen.kv_prefix_end_v1(c) = 'à' collate "C"]`, "{t,t,t}"},
	{"kv_namespace_fault_v1", "n.s", "N", "ä", `array[queen.kv_namespace_fault_v1(a), left(queen.kv_namespace_fault_v1(b), 16),
		left(queen.kv_namespace_fault_v1(c), 16)]`, "{NULL,kv_bad_namespace,kv_bad_namespace}"},
	{"kv_key_fault_v1", "K", "", "", "array[queen.kv_key_fault_v1(a) is null, queen.kv_key_fault_v1(b) is null]", "{t,f}"},
	{"kv_number_fault_v1", "delta", "", "", "queen.kv_number_fault_v1(a, '5') is null", "true"},
	{"kv_unknown_field_fault_v1", "op", "ns", "", `queen.kv_unknown_field_fault_v1('{"op": "get", "a": 1, "B": 2}', many)`,
		"kv_unknown_field the op get knows no field named B"},
	{"kv_plain_expiry_v1", "ns", "key", "", `queen.kv_plain_expiry_v1('{"ns": "n", "key": "k", "ttlMs": 1}', many)`, "true"},
	{"kv_plain_expiry_v1", "ns", "KEY", "", `queen.kv_plain_expiry_v1('{"ns": "n", "key": "k", "forever": true}', many)`, "false"},
	{"kv_row_v1", "K", "", "", "queen.kv_row_v1(a, '1', 1, null, '2030-01-01Z')::jsonb -> 'key'", `"K"`},
	{"kv_verdict_v1", "exists", "", "", `queen.kv_verdict_v1('{"op": "put"}', 0, a, '1', 1, null) -> 'reason'`, `"exists"`},
	{"kv_lost_v1", "exists", "", "", `queen.kv_lost_v1('{"op": "put"}', 0, a, '1', 1, null) -> 'reason'`, `"exists"`},
	{"kv_lost_v1", "exists", "", "", `queen.kv_lost_v1('{"op": "put", "required": true}', 0, a, '1', 1, null)`, "23514 kv_precondition_failed"},
	{"kv_refuse_v1", "kv_bad_key no", "kv_key_too_large no", "", "queen.kv_refuse_v1(a)", "22023 kv_bad_key"},
	{"kv_refuse_v1", "kv_bad_key no", "kv_key_too_large no", "", "queen.kv_refuse_v1(b, 3)", "22001 kv_key_too_large"},
	{"kv_level_functions_v1", "writer", "Writer", "", `array[(select count(*) > 3 from queen.kv_level_functions_v1(a)),
		(select count(*) > 0 from queen.kv_level_functions_v1(b))]`, "{t,f}"},
	{"kv_grant_level_v1", "sweeper", "", "", "queen.kv_grant_level_v1('%role%', a)", ""},
	{"kv_grant_v1", "none", "NONE", "", "queen.kv_grant_v1('%role%'::regrole, a)", ""},
	{"kv_grant_v1", "none", "NONE", "", "queen.kv_grant_v1('%role%'::regrole, b)", "22023 kv_bad_request"},

	// The rows k and B live in namespace n.
	{"kv_get_v1", "n", "k", "", "(select count(*) from queen.kv_get_v1(a, b))", "1"},
	{"kv_get_v1", "n", "K", "", "(select count(*) from queen.kv_get_v1(a, b))", "0"},
	{"kv_get_v1", "N", "k", "", "(select count(*) from queen.kv_get_v1(a, b))", "0"},
	{"kv_get_v1", "n", "k", "", "(select count(*) from queen.kv_get_v1(plain, b))", "1"},
	{"kv_get_many_v1", "k", "b", "n", "(select array_agg(g.key) from queen.kv_get_many_v1(c, many) as g)", "{k}"},
	{"kv_get_many_v1", "k", "B", "n", `(select array_agg(g.key order by g.key collate "C") from queen.kv_get_many_v1(c, many) as g)`, "{B,k}"},
	{"kv_restamp_v1", "n", "k", "", "case when queen.kv_restamp_v1(queen.kv_default_tenant_v1(), a, b, 1) is not null then " + expiryOfK + " = 'null' end", "false"},
	{"kv_restamp_v1", "n", "K", "", "case when queen.kv_restamp_v1(queen.kv_default_tenant_v1(), a, b, 1) is not null then " + expiryOfK + " = 'null' end", "true"},

	{"kv_once_lock_v1", "n", "k", "K", `array[
		queen.kv_once_lock_v1(queen.kv_default_tenant_v1(), a, b) = queen.kv_once_lock_v1(queen.kv_default_tenant_v1(), 'n', 'k'),
		queen.kv_once_lock_v1(queen.kv_default_tenant_v1(), a, c) = queen.kv_once_lock_v1(queen.kv_default_tenant_v1(), 'n', 'k')]`, "{t,f}"},
	{"kv_once_fault_v1", "n", "k", "", "queen.kv_once_fault_v1(a, b, queen.kv_default_tenant_v1(), null) is null", "true"},
	{"kv_once_fault_v1", "N", "k", "", "left(queen.kv_once_fault_v1(a, b, queen.kv_default_tenant_v1(), null), 16)", "kv_bad_namespace"},
	{"kv_plain_names_v1", "n", "K", "", "queen.kv_plain_names_v1(a, b)", "true"},
	{"kv_plain_names_v1", "N", "ä", "", "queen.kv_plain_names_v1(a, b)", "false"},
	{"kv_once_begin_v1", "n", "k", "K", "array[(queen.kv_once_begin_v1(a, c, 1000)).state, (queen.kv_once_begin_v1(a, b, 1000)).state]", "{run,foreign}"},
	{"kv_once_begin_v1", "n", "x", "", "array[(queen.kv_once_begin_v1(a, b, 1000)).state, (queen.kv_once_begin_v1(a, b, 1000)).state]", "{run,reentry}"},
	{"kv_once_begin_v1", "n", "x", "", "(queen.kv_once_begin_v1(plain, b, 1000)).state", "run"},
	{"kv_once_begin_v1", "N", "x", "", "queen.kv_once_begin_v1(a, b, 1000)", "22023 kv_bad_namespace"},
	{"kv_once_begin_v1", "n", "", "", "queen.kv_once_begin_v1(a, b, 1000)", "22023 kv_bad_key"},
	{"kv_once_end_v1", "n", "x", "", "queen.kv_once_end_v1(a, b, (queen.kv_once_begin_v1(a, b, 1000)).token, 'done') > 0", "true"},
	{"kv_once_end_v1", "n", "x", "X", "queen.kv_once_end_v1(a, c, (queen.kv_once_begin_v1(a, b, 1000)).token, 'done')", "55000 kv_once_lost"},

	{"kv_pattern_fault_v1", "n", "k", "", "queen.kv_pattern_fault_v1(a, many, 1, queen.kv_default_tenant_v1(), null) is null", "true"},
	{"kv_pattern_fault_v1", "N", "k", "", "left(queen.kv_pattern_fault_v1(a, many, 1, queen.kv_default_tenant_v1(), null), 16)", "kv_bad_namespace"},
	{"kv_limiter_fault_v1", "n", "k", "", "queen.kv_limiter_fault_v1(a, many, null, 1, 1, queen.kv_default_tenant_v1(), null) is null", "true"},
	{"kv_limiter_fault_v1", "n", "", "", "left(queen.kv_limiter_fault_v1(a, many, null, 1, 1, queen.kv_default_tenant_v1(), null), 10)", "kv_bad_key"},
	{"kv_limiter_hit_v1", "n", "k", "K", `array[queen.kv_limiter_hit_v1(a, b, 0, 5, 1000, 0, queen.kv_default_tenant_v1(), clock_timestamp(), false) -> 'value',
		queen.kv_limiter_hit_v1(a, c, 0, 5, 1000, 0, queen.kv_default_tenant_v1(), clock_timestamp(), false) -> 'value']`, `{1,"null"}`},
	{"kv_limiter_v1", "n", "k", "", "(select array_agg(l.remaining order by l.ordinality) from queen.kv_limiter_v1(plain, many, null, 5, 1000) as l)", "{4,3}"},
	{"kv_limiter_v1", "B", "k", "n", "(select array_agg(l.remaining order by l.ordinality) from queen.kv_limiter_v1(c, many, null, 5, 1000) as l)", "{2,3}"},
	{"kv_limiter_v1", "b", "K", "n", "(select array_agg(l.remaining order by l.ordinality) from queen.kv_limiter_v1(c, many, null, 5, 1000) as l)", "{4,4}"},
	{"kv_lease_fault_v1", "n", "k", "me", "queen.kv_lease_fault_v1(a, b, 1, c, 1, queen.kv_default_tenant_v1(), null) is null", "true"},
	{"kv_lease_acquire_v1", "n", "x", "me", "(queen.kv_lease_acquire_v1(a, b, c, 1000)).owner", "me"},
	{"kv_lease_acquire_v1", "n", "k", "me", "(queen.kv_lease_acquire_v1(a, b, c, 1000)).owner", "1"},
	{"kv_lease_renew_v1", "n", "x", "X", "queen.kv_lease_renew_v1(a, c, (queen.kv_lease_acquire_v1(a, b, a, 1000)).token, 1000) is null", "true"},
	{"kv_lease_renew_v1", "n", "x", "", "queen.kv_lease_renew_v1(a, b, (queen.kv_lease_acquire_v1(a, b, a, 1000)).token, 1000) is null", "false"},
	{"kv_lease_release_v1", "n", "x", "", "queen.kv_lease_release_v1(a, b, (queen.kv_lease_acquire_v1(a, b, a, 1000)).token)", "true"},
	{"kv_lease_release_v1", "n", "x", "X", "queen.kv_lease_release_v1(a, c, (queen.kv_lease_acquire_v1(a, b, a, 1000)).token)", "false"},
	{"kv_lease_guard_v1", "n", "x", "", "queen.kv_lease_guard_v1(a, b, (queen.kv_lease_acquire_v1(a, b, a, 1000)).token) is null", "false"},
	{"kv_lease_guard_v1", "n", "x", "X", "queen.kv_lease_guard_v1(a, c, (queen.kv_lease_acquire_v1(a, b, a, 1000)).token)", "55000 kv_lease_lost"},
	{"kv_dedupe_insert_v1", "k", "K", "n", "queen.kv_dedupe_insert_v1(c, many, null, queen.kv_default_tenant_v1(), clock_timestamp())", "{K}"},
	{"kv_dedupe_each_v1", "k", "K", "n", "queen.kv_dedupe_each_v1(c, many, 1000, queen.kv_default_tenant_v1(), clock_timestamp())", "{K}"},
	{"kv_dedupe_take_v1", "k", "K", "n", "queen.kv_dedupe_take_v1(c, many, 1000, queen.kv_default_tenant_v1(), clock_timestamp())", "{K}"},
	{"kv_dedupe_v1", "k", "K", "n", "queen.kv_dedupe_v1(c, many, 1000)", "{f,t}"},
	{"kv_dedupe_v1", "x", "x", "n", "queen.kv_dedupe_v1(c, many, 1000)", "{t,f}"},
	{"kv_dedupe_v1", "x", "X", "n", "queen.kv_dedupe_v1(c, many, 1000)", "{t,t}"},
	{"kv_dedupe_v1", "x", "k", "N", "queen.kv_dedupe_v1(c, many, 1000)", "22023 kv_bad_namespace"},
}

// TestCollatedColumns passes texts from columns to every function that takes one: a caller's
// collation travels into functions.
func TestCollatedColumns(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	conn := db.Conn(t, func(cfg *pgx.ConnConfig) {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeExec // the table of columns is another one for each call
	})
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`create collation kv_ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
	exec(`select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "k", "value": 1, "forever": true},
		{"op": "put", "ns": "n", "key": "B", "value": 2, "forever": true}]')`)
	everyTextFunction(t, conn)
	role := db.Role(t)
	for _, collation := range []string{`pg_catalog."C"`, `pg_catalog."und-x-icu"`, "public.kv_ci"} {
		for _, c := range textCalls {
			t.Run(collation+"/"+c.function+" "+strings.Join([]string{c.a, c.b, c.c}, " "), func(t *testing.T) {
				got := c.run(t.Context(), conn, collation, strings.ReplaceAll(c.call, "%role%", role))
				if got != c.want {
					t.Errorf("%s\n  want %s\n  got  %s", c.call, c.want, got)
				}
			})
		}
	}
}

// run makes the call in a transaction that is rolled back, and returns its text, or the SQLSTATE
// and the MESSAGE.
func (c *textCall) run(ctx context.Context, conn *pgx.Conn, collation, call string) string {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err.Error()
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	column := "text collate " + collation
	_, err = tx.Exec(ctx, fmt.Sprintf(`create temp table args (a %[1]s, b %[1]s, c %[1]s, plain text, many text[] collate %[2]s) on commit drop`,
		column, collation))
	if err != nil {
		return err.Error()
	}
	if _, err = tx.Exec(ctx, "insert into args values ($1, $2, $3, $1, array[$1, $2])", c.a, c.b, c.c); err != nil {
		return err.Error()
	}
	var got *string
	err = tx.QueryRow(ctx, "select ("+call+")::text from args").Scan(&got)
	var raised *pgconn.PgError
	switch {
	case errors.As(err, &raised):
		return raised.Code + " " + raised.Message
	case err != nil:
		return err.Error()
	case got == nil:
		return "NULL"
	}
	return *got
}

// everyTextFunction fails the test for a function with a text argument that no call names.
func everyTextFunction(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	named := map[string]bool{}
	for _, c := range textCalls {
		named[c.function] = true
	}
	rows, err := conn.Query(t.Context(), `select proname from pg_proc
		where pronamespace = 'queen'::regnamespace and proargtypes::oid[] && '{text,text[]}'::regtype[]::oid[]`)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(functions) < 10 {
		t.Fatalf("only %d functions take a text", len(functions))
	}
	for _, name := range functions {
		if !named[name] {
			t.Errorf("%s takes a text, and no call here passes one from a column", name)
		}
	}
}
