package sql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"encoding/json"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A fault is one thing wrong with an op: the fields that make it, over those of a good op, and
// how it is refused.
type fault struct {
	fields map[string]any // a nil function: the field is left out
	code   string
	says   string // in the DETAIL, where the code alone doesn't tell it from its neighbours
}

type absent struct{}

// with is an op with the faults in it.
func with(good map[string]any, faults []fault) string {
	op := maps.Clone(good)
	for _, f := range slices.Backward(faults) { // of two faults in one field the earlier stays
		for name, value := range f.fields {
			if _, out := value.(absent); out {
				delete(op, name)
			} else {
				op[name] = value
			}
		}
	}
	text, err := json.Marshal(op)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Of several faults in one op the first in the contract's order is reported: op, tenant field,
// unknown field, ns, key or keys (wire, prefix), after, limit, keysOnly, expiry (each field,
// then exactly one), value present, value size, expect, delta, min, max, required.
func TestOrderOfFaults(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	fields := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	number := func(s string) json.Number { return json.Number(s) }
	head := []fault{
		{fields("op", nil), "kv_bad_request", "op"},
		{fields("op", "no such op"), "kv_unknown_op", ""},
		{fields("tenantId", 1), "kv_tenant_not_an_input", ""},
		{fields("nonsense", 1), "kv_unknown_field", "nonsense"},
		{fields("ns", "N"), "kv_bad_namespace", ""},
	}
	key := fault{fields("key", ""), "kv_bad_key", ""}
	expiry := []fault{
		{fields("ttlSeconds", 0), "kv_bad_ttl", "ttlSeconds"},
		{fields("ttlMs", "5"), "kv_bad_ttl", "ttlMs"},
		{fields("forever", nil), "kv_bad_request", "forever"},
		{fields("forever", absent{}, "ttlSeconds", 1, "ttlMs", 1), "kv_expiry_not_specified", ""},
	}
	expect := fault{fields("expect", -1), "kv_bad_expect", ""}
	required := fault{fields("required", 1), "kv_bad_request", "required"}
	for name, faults := range map[string][]fault{
		"put": slices.Concat(head, []fault{key}, expiry, []fault{{fields("value", absent{}), "kv_bad_request", "value"},
			{fields("value", strings.Repeat("v", 65535)), "kv_value_too_large", ""}, expect, required}),
		"putIfAbsent": slices.Concat(head, []fault{key}, expiry, []fault{{fields("value", absent{}), "kv_bad_request", "value"},
			{fields("value", strings.Repeat("v", 65535)), "kv_value_too_large", ""}, expect, required}),
		"delete": slices.Concat(head, []fault{key, expect, required}),
		"touch":  slices.Concat(head, []fault{key}, expiry, []fault{expect, required}),
		"incr": slices.Concat(head, []fault{key}, expiry, []fault{{fields("delta", number("1e37")), "kv_bad_number", "delta"},
			{fields("min", "0"), "kv_bad_request", "min"}, {fields("max", number("1e-19")), "kv_bad_number", "max"}, required}),
		"get":     slices.Concat(head, []fault{key}),
		"getMany": slices.Concat(head, []fault{{fields("keys", []any{"k", 5}), "kv_bad_key", ""}}),
		"getPrefix": slices.Concat(head, []fault{{fields("prefix", ""), "kv_prefix_required", ""}, {fields("after", 5), "kv_bad_request", "after"},
			{fields("limit", 1.5), "kv_bad_request", "limit"}, {fields("keysOnly", 1), "kv_bad_request", "keysOnly"}}),
	} {
		good := fields("op", name, "ns", "n")
		switch name {
		case "getMany":
			good["keys"] = []any{}
		case "getPrefix":
			good["prefix"] = "p"
		default:
			good["key"] = "k"
		}
		if name == "put" || name == "putIfAbsent" {
			good["value"] = 1
		}
		if name == "incr" {
			good["delta"] = 1
		}
		if !slices.Contains([]string{"get", "getMany", "getPrefix", "delete"}, name) {
			good["forever"] = true
		}
		if err := call(t.Context(), conn, "["+with(good, nil)+"]"); err != nil {
			t.Fatalf("%s without a fault: %v", name, err)
		}
		// All faults at once; then without the first one, and so on to the last.
		for i, f := range faults {
			t.Run(fmt.Sprintf("%s %d %s %s", name, i, f.code, f.says), func(t *testing.T) {
				op := with(good, faults[i:])
				r, form := refusedWith(call(t.Context(), conn, "["+op+"]"))
				if form != "" {
					t.Fatal(form)
				}
				if r.code != f.code || !strings.Contains(r.problem, f.says) {
					t.Errorf("%s %s, want %s about %q, of %.300s", r.code, r.detail, f.code, f.says, op)
				}
			})
		}
	}
}

// Of several bad ops the first in input order is reported, whatever the order they would run
// in; the number of ops comes before all of them, the number of keys after.
func TestFirstBadOp(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for ops, want := range map[string]string{
		`[` + put("z") + `, {"op": "put", "ns": "n", "key": "b"}, {"op": "get", "ns": "n", "key": ""}]`:  "kv_expiry_not_specified 1",
		`[` + put("z") + `, {"op": "get", "ns": "n", "key": ""}, {"op": "put", "ns": "n", "key": "b"}]`:  "kv_bad_key 1",
		`[{"op": "get", "ns": "z", "key": 5}, {"op": "get", "ns": "A", "key": "k"}]`:                     "kv_bad_key 0",
		`[` + strings.Repeat(`{"op": "getPrefix", "ns": "n", "prefix": "p", "limit": 1000}, `, 5) + `5]`: "kv_bad_request 5",
	} {
		r, form := refusedWith(call(t.Context(), conn, ops))
		if form != "" {
			t.Fatal(form)
		}
		if got := fmt.Sprintf("%s %d", r.code, deref(r.index)); got != want {
			t.Errorf("%s, want %s, of %.200s", got, want, ops)
		}
	}
	if n := rowCount(t, conn); n != 0 {
		t.Errorf("the refused calls have written %d rows", n)
	}
}

func deref(index *int) int {
	if index == nil {
		return -1
	}
	return *index
}

// For getPrefix the wire comes after the namespace and before the prefix.
func TestOrderInTheWire(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for op, want := range map[string]string{
		`{"op": "getPrefix", "ns": "N", "prefix": "p"}`:            "kv_bad_namespace",
		`{"op": "getPrefix", "ns": "n"}`:                           "kv_get_prefix_not_allowed_in_transaction",
		`{"op": "getPrefix", "ns": "n", "prefix": "p"}`:            "kv_get_prefix_not_allowed_in_transaction",
		`{"op": "getPrefix", "ns": "n", "prefix": "p", "x": true}`: "kv_unknown_field",
	} {
		var answer *string
		err := conn.QueryRow(t.Context(), "select queen.kv_apply_v1($1::jsonb, p_in_wire => true)::text", "["+op+"]").Scan(&answer)
		r, form := refusedWith(err)
		if form != "" {
			t.Fatal(form)
		}
		if r.code != want || deref(r.index) != 0 {
			t.Errorf("%s %s, want %s, of %s", r.code, r.detail, want, op)
		}
	}
}
