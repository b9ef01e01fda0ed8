package sql

import (
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// What the kv_plain functions let pass is never asked for by kv_op_fault_v1, so it must be good.
// Every field of a usual op is left out, doubled in the wrong op, or given each odd value in turn.
func TestPlainOpsAreGood(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	odd := []string{
		"null", "true", "false", "0", "1", "-1", "0.5", "60.0", "1e30", "1e131071", "0e-16383", `""`, `"k"`, `"1"`, `"true"`, "[]", "[1]", `["k"]`,
		"{}", `{"type": "number"}`, "9223372036854775807", "9223372036854775808", "3155760000000", "3155760000001", "1000000000000000001",
		`"` + strings.Repeat("k", 64) + `"`, `"` + strings.Repeat("k", 65) + `"`, `"` + strings.Repeat("k", 2049) + `"`,
		`"` + strings.Repeat("k", 70000) + `"`, `"` + strings.Repeat(`\u0001`, 10922) + `"`, `"` + strings.Repeat(`\u0001`, 10923) + `"`,
		strings.Repeat("[", 1000) + strings.Repeat("]", 1000), strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	}
	fields := []string{
		"op", "ns", "key", "keys", "value", "delta", "min", "max", "ttlSeconds", "ttlMs", "forever", "expect", "required", "after", "tenant", "x",
	}
	var good, plain int
	for _, op := range []string{
		`{"op": "get", "ns": "n", "key": "k"}`,
		`{"op": "put", "ns": "n", "key": "k", "value": "v", "ttlMs": 5}`,
		`{"op": "putIfAbsent", "ns": "n", "key": "k", "value": {"a": [1]}, "forever": true}`,
		`{"op": "put", "ns": "n", "key": "k", "value": 1, "ttlSeconds": 5, "required": true}`,
		`{"op": "incr", "ns": "n", "key": "k", "delta": 1, "ttlSeconds": 5}`,
	} {
		for _, field := range fields {
			var wrong []string
			var isGood, isPlain int
			scan(t, conn, `
				with variant as (
				  select $1::jsonb - $2::text as op
				  union all
				  select $1::jsonb || jsonb_build_object($2::text, v.value::jsonb) from unnest($3::text[]) as v (value)
				), asked as (
				  select op, queen.kv_op_fault_v1(op, false) as fault, coalesce(case op ->> 'op'
				      when 'get' then queen.kv_plain_get_v1(op)
				      when 'put' then queen.kv_plain_put_v1(op)
				      when 'putIfAbsent' then queen.kv_plain_put_v1(op)
				      when 'incr' then queen.kv_plain_incr_v1(op)
				    end, false) as plain
				  from variant
				)
				select array(select left(op::text, 200) || ': ' || fault from asked where plain and fault is not null),
				  (select count(*) from asked where fault is null), (select count(*) from asked where plain)`,
				[]any{op, field, odd}, &wrong, &isGood, &isPlain)
			for _, w := range wrong {
				t.Errorf("let pass: %s", w)
			}
			good, plain = good+isGood, plain+isPlain
		}
	}
	if plain < 50 {
		t.Errorf("only %d of %d good ops are plain: the test shows nothing", plain, good)
	}
	t.Logf("%d of %d good ops are plain", plain, good)
}
