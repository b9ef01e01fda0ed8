package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// sqlStates are the contract's codes: what may come back besides an answer, and nothing else.
var sqlStates = map[string]string{
	"kv_bad_request": "22023", "kv_unknown_op": "22023", "kv_unknown_field": "22023", "kv_tenant_not_an_input": "22023",
	"kv_bad_namespace": "22023", "kv_bad_key": "22023", "kv_prefix_required": "22023", "kv_expiry_not_specified": "22023",
	"kv_bad_ttl": "22023", "kv_bad_expect": "22023", "kv_bad_number": "22023", "kv_too_many_ops": "22023",
	"kv_too_many_keys": "22023", "kv_get_prefix_not_allowed_in_transaction": "22023",
	"kv_key_too_large": "22001", "kv_value_too_large": "22001",
	"kv_precondition_failed": "23514", "kv_contended": "40001", "kv_once_lost": "55000",
}

// A refusal is an error of the contract, taken apart.
type refusal struct {
	code, detail string
	index        *int
	problem      string
}

// refusedWith makes a refusal of an error, and says what is wrong with its form.
func refusedWith(err error) (r refusal, fault string) {
	var raised *pgconn.PgError
	if !errors.As(err, &raised) {
		return r, fmt.Sprintf("no error of the server: %v", err)
	}
	r.code, r.detail = raised.Message, raised.Detail
	if want, ok := sqlStates[raised.Message]; !ok || want != raised.Code {
		return r, fmt.Sprintf("%s %s is not of the contract's list (DETAIL %.300s)", raised.Code, raised.Message, raised.Detail)
	}
	var detail struct {
		Index   *int    `json:"index"`
		Problem *string `json:"problem"`
	}
	d := json.NewDecoder(strings.NewReader(raised.Detail))
	if raised.Message != "kv_precondition_failed" {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(&detail); err != nil {
		return r, fmt.Sprintf("the DETAIL %.300s is not {index, problem}: %v", raised.Detail, err)
	}
	r.index = detail.Index
	if raised.Message == "kv_precondition_failed" {
		return r, ""
	}
	if detail.Problem == nil || *detail.Problem == "" {
		return r, "the DETAIL says no problem: " + raised.Detail
	}
	r.problem = *detail.Problem
	return r, ""
}

// call is kv_apply_v1 with nothing but ops.
func call(ctx context.Context, q queryer, ops string) error {
	var answer *string
	return q.QueryRow(ctx, "select queen.kv_apply_v1($1::jsonb)::text", ops).Scan(&answer)
}

// rowCount is how many rows the table has, dead ones too.
func rowCount(t *testing.T, q queryer) (n int) {
	t.Helper()
	scan(t, q, "select count(*) from queen.kv", nil, &n)
	return n
}

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

// A row that changes hands whenever it is to be written: after 16 rounds the op gives up. The
// trigger, which undoes every write, stands for the others.
func TestContended(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for _, sql := range []string{
		"select queen.kv_apply_v1('[" + put("live") + "]')",
		"create sequence rounds",
		`create function undo() returns trigger language plpgsql as 'begin perform nextval(''public.rounds''); return null; end'`,
		"create trigger undo before insert or update or delete on queen.kv for each row execute function undo()",
	} {
		_, err := conn.Exec(t.Context(), sql)
		must(t, err)
	}
	for _, c := range []string{
		`kv_apply_v1('[` + put("live") + `]')`,
		`kv_apply_v1('[` + put("absent") + `]')`,
		`kv_apply_v1('[{"op": "putIfAbsent", "ns": "n", "key": "absent", "value": 1, "forever": true}]')`,
		`kv_apply_v1('[{"op": "delete", "ns": "n", "key": "live"}]')`,
		`kv_apply_v1('[{"op": "incr", "ns": "n", "key": "live", "delta": 1, "forever": true}]')`,
		`kv_apply_v1('[{"op": "incr", "ns": "n", "key": "absent", "delta": 1, "forever": true}]')`,
		`kv_apply_v1('[{"op": "touch", "ns": "n", "key": "live", "forever": true}]')`,
		`kv_once_begin_v1('n', 'absent', 1000)`,
	} {
		t.Run(c, func(t *testing.T) {
			var before, after int
			scan(t, conn, "select nextval('rounds')", nil, &before)
			var answer *string
			r, fault := refusedWith(conn.QueryRow(t.Context(), "select queen."+c+"::text").Scan(&answer))
			if fault != "" {
				t.Fatal(fault)
			}
			if isOp := strings.HasPrefix(c, "kv_apply"); r.code != "kv_contended" || isOp != (r.index != nil && *r.index == 0) {
				t.Errorf("%s %s, want kv_contended, and the index of an op", r.code, r.detail)
			}
			scan(t, conn, "select nextval('rounds')", nil, &after)
			if rounds := after - before - 1; rounds != 16 {
				t.Errorf("gave up after %d rounds, want 16", rounds)
			}
		})
	}
}
