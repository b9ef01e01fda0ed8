package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// oddValues are valid JSON of every kind that a field could hold.
func oddValues() map[string]string {
	odd := map[string]string{}
	for _, v := range []string{"null", "true", "false", "0", "1", "-1", "-0.0", "1.5", "60.0", "1e3", "1e-3", "1e36", "1e37", "1e400", "-1e400",
		"1e131071", "-1e131071", "1e-16383", "0e-16383", "1e-400", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
		"2147483648", "32768", `""`, `"k"`, `"1"`, `"null"`, `"NaN"`, `"Infinity"`, `"true"`, `"{}"`, `"2031-01-01"`, `"\u0001"`, `"\\"`, `"'"`,
		`"%"`, `"\uffff"`, `"\ud83d\ude00"`, "[]", "{}", "[null]", "[1, \"a\", null]", "[[]]", "[{}]", `{"a": null}`, `{"": ""}`,
		`{"op": "put"}`, `[1e131071, 1e131071]`, `{"a": 1e-16383}`, `[[1e131071]]`} {
		odd[v] = v
	}
	odd["a string of 2,048"] = `"` + strings.Repeat("k", 2048) + `"`
	odd["a string of 100,000"] = `"` + strings.Repeat("k", 100000) + `"`
	odd["a number of 70,000 digits"] = strings.Repeat("7", 70000)
	odd["a number of 16,383 decimals"] = "0." + strings.Repeat("7", 16383)
	odd["one and 16,382 zeros behind the point"] = "1." + strings.Repeat("0", 16382)
	odd["nested 500 deep"] = strings.Repeat("[", 500) + strings.Repeat("]", 500)
	odd["objects nested 1,500 deep"] = strings.Repeat(`{"a": `, 1500) + "1" + strings.Repeat("}", 1500)
	odd["an array of 10,000"] = "[" + strings.Repeat("0, ", 9999) + "0]"
	odd["a member name of 100,000"] = `{"` + strings.Repeat("k", 100000) + `": 1}`
	return odd
}

// No valid JSONB comes back as an error that is not the contract's: odd values in every field
// of every op, known to it or not, on a row that is there and on none.
func TestOddValues(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"get": `"ns": "n", "key": "K"`, "put": `"ns": "n", "key": "K", "value": 1, "forever": true`,
		"putIfAbsent": `"ns": "n", "key": "K", "value": 1, "forever": true`, "delete": `"ns": "n", "key": "K"`,
		"incr": `"ns": "n", "key": "K", "delta": 1, "forever": true`, "touch": `"ns": "n", "key": "K", "forever": true`,
		"getMany": `"ns": "n", "keys": ["K", "k"]`, "getPrefix": `"ns": "n", "prefix": "K"`,
	}
	fields := []string{"op", "ns", "key", "keys", "prefix", "after", "limit", "keysOnly", "ttlSeconds", "ttlMs", "forever", "value", "expect", "delta",
		"min", "max", "required", "tenant", "unknown"}
	for op, members := range good {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			conn := testdb.New(t, nil).Conn(t)
			must(t, call(t.Context(), conn, "["+put("live")+"]"))
			played, refused := 0, 0
			for _, key := range []string{"live", "absent"} {
				for _, field := range fields {
					for name, value := range oddValues() {
						// The last of two members with one name is the one that JSONB keeps.
						ops := fmt.Sprintf(`[{"op": %q, %s, %q: %s}]`, op, strings.ReplaceAll(members, "K", key), field, value)
						played++
						err := call(t.Context(), conn, ops)
						if err == nil {
							continue
						}
						refused++
						if _, form := refusedWith(err); form != "" {
							t.Errorf("%s of %s, %s: %s", op, key, name, form)
						}
					}
				}
			}
			t.Logf("%d calls, %d of them refused", played, refused)
		})
	}
}

// The same in the place of the op and of the whole array.
func TestOddOps(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for name, value := range oddValues() {
		for _, ops := range []string{value, "[" + value + "]", "[" + put("k") + ", " + value + "]", "[[" + value + "]]"} {
			if err := call(t.Context(), conn, ops); err != nil {
				if _, form := refusedWith(err); form != "" {
					t.Errorf("%s: %s", name, form)
				}
			}
		}
	}
}

// What a row can hold, and no put would write, is read and changed without a raw error either.
func TestOddRows(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ops := []string{
		`{"op": "get", "ns": "n", "key": "k"}`,
		`{"op": "getMany", "ns": "n", "keys": ["k"]}`,
		`{"op": "getPrefix", "ns": "n", "prefix": "k"}`,
		`{"op": "incr", "ns": "n", "key": "k", "delta": 1, "forever": true}`,
		`{"op": "incr", "ns": "n", "key": "k", "delta": -1e36, "min": -1e36, "max": 1e36, "forever": true}`,
		`{"op": "put", "ns": "n", "key": "k", "value": 1, "forever": true, "expect": 1}`,
		`{"op": "putIfAbsent", "ns": "n", "key": "k", "value": 1, "forever": true, "required": true}`,
		`{"op": "touch", "ns": "n", "key": "k", "forever": true}`,
		`{"op": "delete", "ns": "n", "key": "k", "required": true, "expect": 1}`,
		`{"op": "delete", "ns": "n", "key": "k"}`,
	}
	for name, value := range oddValues() {
		for _, expiry := range []string{"null", "'2000-01-01Z'"} {
			_, err := conn.Exec(t.Context(), `insert into queen.kv (tenant_id, namespace, key, value, expires_at)
				values (queen.kv_default_tenant_v1(), 'n', 'k', $1, `+expiry+`) on conflict (tenant_id, namespace, key)
				do update set value = excluded.value, expires_at = excluded.expires_at`, value)
			must(t, err)
			for _, op := range ops {
				if err := call(t.Context(), conn, "["+op+"]"); err != nil {
					if _, form := refusedWith(err); form != "" {
						t.Errorf("%s on a row with %s: %s", op, name, form)
					}
				}
			}
		}
	}
}
