package static

import (
	"slices"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// explained are findings of plpgsql_check that are right as a remark and wrong as a fault.
var explained = []struct{ function, finding, because string }{
	{"kv_op_put_v1", "control reached end of function without RETURN", "the last statement, kv_refuse_v1, always raises"},
	{"kv_op_delete_v1", "control reached end of function without RETURN", "as in kv_op_put_v1"},
	{"kv_dedupe_take_v1", "control reached end of function without RETURN", "as in kv_op_put_v1"},
	{"kv_op_incr_v1", "control reached end of function without RETURN", "as in kv_op_put_v1"},
	{"kv_op_touch_v1", "control reached end of function without RETURN", "as in kv_op_put_v1"},
	{"kv_op_get_many_v1", `cast "text" value to "jsonb[]" type`, "the constant '{}', cast once a call"},
	{"kv_op_get_many_v1", `cast "text" value to "text[]" type`, "the constant '{}', cast once a call"},
	{"kv_op_get_prefix_v1", `cast "text" value to "text[]" type`, "the constant '{}', cast once a call"},
}

// TestPlpgsqlCheck has the extension plpgsql_check look through every function: names and types that only a run would find
// wrong, unused variables, unreachable code, results of the wrong shape.
func TestPlpgsqlCheck(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	if _, err := conn.Exec(t.Context(), "create extension plpgsql_check"); err != nil {
		testdb.NotRun(t, "the extension plpgsql_check can't be created: "+err.Error())
	}
	used := map[int]bool{}
	for _, line := range findings(t, conn) {
		i := slices.IndexFunc(explained, func(e struct{ function, finding, because string }) bool {
			return strings.HasPrefix(line, e.function+" ") && strings.Contains(line, e.finding)
		})
		if i < 0 {
			t.Error(line)
		}
		used[i] = true
	}
	for i, e := range explained {
		if !used[i] {
			t.Logf("not found by this release of the extension: %s %s", e.function, e.finding)
		}
	}

	for fault, body := range map[string]string{
		"has no field":   "declare v_row record; begin select kv.key into v_row from queen.kv; return v_row.keys; end",
		"does not exist": "begin return (select count(*) from queen.kvs); end",
		"unused":         "declare v_never int; begin return 1; end",
		"unreachable":    "begin return 1; return 2; end",
		"without RETURN": "begin if p_a = 1 then return 1; end if; end",
	} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(t.Context(), "create function queen.kv_broken_v1(p_a int) returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$"+body+"$$")
		if err != nil {
			t.Fatal(err)
		}
		seen := slices.ContainsFunc(findings(t, tx), func(line string) bool {
			return strings.HasPrefix(line, "kv_broken_v1 ") && strings.Contains(line, fault)
		})
		if !seen {
			t.Errorf("%s: not found in %s", fault, body)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// findings are lines of function, line, level, SQLSTATE, message, detail and hint. The extension's remarks on performance, guesses at a
// better volatility and at casts, are left out: benchmarks decide that.
func findings(t *testing.T, q querier) []string {
	t.Helper()
	return texts(t, q, `select distinct concat_ws(' ', p.proname, 'line ' || c.lineno, c.level, c.sqlstate, c.message, c.detail, c.hint)
		from pg_proc as p join pg_language as l on l.oid = p.prolang,
			plpgsql_check_function_tb(p.oid, fatal_errors => false, other_warnings => true, extra_warnings => true, security_warnings => true) as c
		where p.pronamespace = 'queen'::regnamespace and l.lanname = 'plpgsql' and p.prorettype <> 'trigger'::regtype
		order by 1`)
}
