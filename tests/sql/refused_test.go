package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

const long = 5000 // characters: more than any field that is echoed may show

// Each code of validation, with the op of the second place at fault: its index is told, the
// first op has written nothing, and at most 100 characters of the input come back.
func TestRefusals(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	q := strings.Repeat("Q", long)
	for _, c := range []struct{ code, op, says string }{
		{"kv_bad_request", `5`, "object"},
		{"kv_bad_request", `"` + q + `"`, "object"},
		{"kv_bad_request", `{}`, "op"},
		{"kv_bad_request", `{"op": null}`, "op"},
		{"kv_bad_request", `{"op": ["` + q + `"]}`, "op"},
		{"kv_unknown_op", `{"op": "` + q + `"}`, "op"},
		{"kv_unknown_op", `{"op": ""}`, "op"},
		{"kv_unknown_op", `{"op": "PUT"}`, "op"},
		{"kv_tenant_not_an_input", `{"op": "get", "ns": "n", "key": "k", "tenant": "` + q + `"}`, "tenant"},
		{"kv_tenant_not_an_input", `{"op": "get", "ns": "n", "key": "k", "tenantId": 1}`, "tenant"},
		{"kv_tenant_not_an_input", `{"op": "get", "ns": "n", "key": "k", "tenant_id": 1}`, "tenant"},
		{"kv_tenant_not_an_input", `{"op": "get", "ns": "n", "key": "k", "_tenant": null}`, "tenant"},
		{"kv_unknown_field", `{"op": "get", "ns": "n", "key": "k", "` + q + `": 1}`, strings.Repeat("Q", 100)},
		{"kv_unknown_field", `{"op": "get", "ns": "n", "key": "k", "expct": 1}`, "expct"},
		{"kv_unknown_field", `{"op": "incr", "ns": "n", "key": "k", "delta": 1, "forever": true, "expect": 0}`, "expect"},
		{"kv_unknown_field", `{"op": "get", "ns": "n", "key": "k", "required": true}`, "required"},
		{"kv_bad_namespace", `{"op": "get", "key": "k"}`, "ns"},
		{"kv_bad_namespace", `{"op": "get", "ns": "` + q + `", "key": "k"}`, "ns"},
		{"kv_bad_namespace", `{"op": "get", "ns": {"` + q + `": 1}, "key": "k"}`, "ns"},
		{"kv_bad_key", `{"op": "get", "ns": "n"}`, "key"},
		{"kv_bad_key", `{"op": "get", "ns": "n", "key": ["` + q + `"]}`, "key"},
		{"kv_bad_key", `{"op": "getMany", "ns": "n", "keys": ["k", {"` + q + `": 1}]}`, "1"}, // its position
		{"kv_key_too_large", `{"op": "get", "ns": "n", "key": "` + q + `"}`, "key"},
		{"kv_key_too_large", `{"op": "getMany", "ns": "n", "keys": ["k", "k", "` + q + `"]}`, "2"},
		{"kv_bad_request", `{"op": "getMany", "ns": "n"}`, "keys"},
		{"kv_bad_request", `{"op": "getMany", "ns": "n", "keys": {"` + q + `": 1}}`, "keys"},
		{"kv_prefix_required", `{"op": "getPrefix", "ns": "n"}`, "prefix"},
		{"kv_prefix_required", `{"op": "getPrefix", "ns": "n", "prefix": ""}`, "prefix"},
		{"kv_bad_request", `{"op": "getPrefix", "ns": "n", "prefix": ["` + q + `"]}`, "prefix"},
		{"kv_key_too_large", `{"op": "getPrefix", "ns": "n", "prefix": "` + q + `"}`, "prefix"},
		{"kv_bad_request", `{"op": "getPrefix", "ns": "n", "prefix": "p", "after": ["` + q + `"]}`, "after"},
		{"kv_bad_request", `{"op": "getPrefix", "ns": "n", "prefix": "p", "limit": "` + q + `"}`, "limit"},
		{"kv_bad_request", `{"op": "getPrefix", "ns": "n", "prefix": "p", "keysOnly": "` + q + `"}`, "keysOnly"},
		{"kv_bad_ttl", `{"op": "touch", "ns": "n", "key": "k", "ttlSeconds": "` + q + `"}`, "ttlSeconds"},
		{"kv_bad_ttl", `{"op": "touch", "ns": "n", "key": "k", "ttlMs": 3155760000001}`, "ttlMs"},
		{"kv_bad_request", `{"op": "touch", "ns": "n", "key": "k", "forever": "` + q + `"}`, "forever"},
		{"kv_expiry_not_specified", `{"op": "touch", "ns": "n", "key": "k"}`, "ttlMs"},
		{"kv_expiry_not_specified", `{"op": "touch", "ns": "n", "key": "k", "ttlMs": 5, "ttlSeconds": 5}`, "ttlMs"},
		{"kv_expiry_not_specified", `{"op": "touch", "ns": "n", "key": "k", "forever": false}`, "forever"},
		{"kv_bad_request", `{"op": "put", "ns": "n", "key": "k", "forever": true}`, "value"},
		{"kv_value_too_large", `{"op": "put", "ns": "n", "key": "k", "forever": true, "value": "` + strings.Repeat("Q", 65535) + `"}`, "65536"},
		{"kv_bad_expect", `{"op": "delete", "ns": "n", "key": "k", "expect": "` + q + `"}`, "expect"},
		{"kv_bad_expect", `{"op": "putIfAbsent", "ns": "n", "key": "k", "value": 1, "forever": true, "expect": 1}`, "expect"},
		{"kv_bad_request", `{"op": "incr", "ns": "n", "key": "k", "forever": true}`, "delta"},
		{"kv_bad_request", `{"op": "incr", "ns": "n", "key": "k", "forever": true, "delta": "` + q + `"}`, "delta"},
		{"kv_bad_number", `{"op": "incr", "ns": "n", "key": "k", "forever": true, "delta": 1e5000}`, "delta"},
		{"kv_bad_request", `{"op": "incr", "ns": "n", "key": "k", "forever": true, "delta": 1, "min": null}`, "min"},
		{"kv_bad_number", `{"op": "incr", "ns": "n", "key": "k", "forever": true, "delta": 1, "max": 1e-19}`, "max"},
		{"kv_bad_request", `{"op": "delete", "ns": "n", "key": "k", "required": "` + q + `"}`, "required"},
	} {
		t.Run(fmt.Sprintf("%s %.80s", c.code, c.op), func(t *testing.T) {
			r, fault := refusedWith(call(t.Context(), conn, "["+put("before")+", "+c.op+"]"))
			if fault != "" {
				t.Fatal(fault)
			}
			if r.code != c.code {
				t.Errorf("%s, want %s (%s)", r.code, c.code, r.detail)
			}
			if r.index == nil || *r.index != 1 {
				t.Errorf("the DETAIL tells no index 1: %s", r.detail)
			}
			if !strings.Contains(r.problem, c.says) {
				t.Errorf("the DETAIL doesn't say %q: %s", c.says, r.detail)
			}
			if strings.Contains(r.detail, strings.Repeat("Q", 101)) {
				t.Errorf("the DETAIL echoes more than 100 characters: %.200s", r.detail)
			}
		})
	}
	if n := rowCount(t, conn); n != 0 {
		t.Errorf("the refused calls have written %d rows", n)
	}
}

// What is wrong with a call as a whole is at no op's index.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	many := func(n int, op string) string { return "[" + strings.Repeat(op+", ", n-1) + op + "]" }
	keys := func(n int) string {
		return `{"op": "getMany", "ns": "n", "keys": [` + strings.TrimSuffix(strings.Repeat(`"k",`, n), ",") + `]}`
	}
	for _, c := range []struct{ code, args string }{
		{"kv_bad_request", "null"},
		{"kv_bad_request", "'{}'"},
		{"kv_bad_request", "'5'"},
		{"kv_bad_request", "'null'"},
		{"kv_bad_request", "'[]', null"},
		{"kv_bad_request", "'[]', p_now => 'infinity'"},
		{"kv_bad_request", "'[]', p_now => '-infinity'"},
		{"kv_bad_request", "'[]', p_now => '9900-01-01Z'"},
		{"kv_bad_request", "'[]', p_now => '0001-12-31 23:59:59Z BC'"},
		{"kv_too_many_ops", "'" + many(257, put("k")) + "'"},
		{"kv_too_many_ops", "'" + many(65, put("k")) + "', p_in_wire => true"},
		{"kv_too_many_ops", "'" + many(257, "5") + "'"}, // before any op's fault
		{"kv_too_many_keys", "'[" + put("k") + ", " + keys(4097) + "]'"},
		{"kv_too_many_keys", "'[" + put("k") + ", " + keys(257) + "]', p_in_wire => true"},
		{"kv_too_many_keys", "'[" + put("k") + ", " + keys(4000) + `, {"op": "getPrefix", "ns": "n", "prefix": "p"}]'`},
	} {
		t.Run(fmt.Sprintf("%s %.60s", c.code, c.args), func(t *testing.T) {
			var answer *string
			err := conn.QueryRow(t.Context(), "select queen.kv_apply_v1("+c.args+")::text").Scan(&answer)
			r, fault := refusedWith(err)
			if fault != "" {
				t.Fatal(fault)
			}
			if r.code != c.code || r.index != nil {
				t.Errorf("%s %s, want %s at no index", r.code, r.detail, c.code)
			}
		})
	}
	if n := rowCount(t, conn); n != 0 {
		t.Errorf("the refused calls have written %d rows", n)
	}
}

// Once refuses with the same codes, at no index.
func TestRefusedOnce(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for _, c := range []struct{ code, call string }{
		{"kv_bad_namespace", "kv_once_begin_v1('N', 'k', 1000)"},
		{"kv_bad_namespace", "kv_once_begin_v1(null, null, null)"},
		{"kv_bad_key", "kv_once_begin_v1('n', '', 1000)"},
		{"kv_key_too_large", "kv_once_begin_v1('n', repeat('k', 2049), 1000)"},
		{"kv_bad_ttl", "kv_once_begin_v1('n', 'k', 0)"},
		{"kv_bad_ttl", "kv_once_begin_v1('n', 'k', null)"},
		{"kv_bad_ttl", "kv_once_begin_v1('n', 'k', 3155760000001)"},
		{"kv_bad_request", "kv_once_begin_v1('n', 'k', 1000, p_tenant => null)"},
		{"kv_bad_request", "kv_once_begin_v1('n', 'k', 1000, p_now => 'infinity')"},
		{"kv_bad_namespace", "kv_once_end_v1('N', 'k', 1, 'x')"},
		{"kv_bad_key", "kv_once_end_v1('n', null, 1, 'x')"},
		{"kv_value_too_large", "kv_once_end_v1('n', 'k', 1, decode(repeat('00', 48001), 'hex'))"},
		{"kv_once_lost", "kv_once_end_v1('n', 'k', 0, 'x')"},
		{"kv_lease_lost", "kv_lease_guard_v1('n', 'k', 1)"},
		{"kv_once_lost", "kv_once_end_v1('n', 'k', null, null)"},
	} {
		t.Run(c.code+" "+c.call, func(t *testing.T) {
			var answer *string
			r, fault := refusedWith(conn.QueryRow(t.Context(), "select queen."+c.call+"::text").Scan(&answer))
			if fault != "" {
				t.Fatal(fault)
			}
			if r.code != c.code || r.index != nil {
				t.Errorf("%s %s, want %s at no index", r.code, r.detail, c.code)
			}
		})
	}
}
