package sql

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// An op that loses on a committed live row, or on no row, takes no transaction id and with it no
// row lock, writes no WAL and draws no version; nor does a read.
func TestLosersLeaveNoTrace(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	conn := db.Conn(t)
	must(t, call(t.Context(), conn, `[{"op": "put", "ns": "n", "key": "number", "value": 7, "ttlSeconds": 3600},
		{"op": "put", "ns": "n", "key": "string", "value": "s", "forever": true}]`))
	must(t, call(t.Context(), conn, `[{"op": "put", "ns": "n", "key": "dead", "value": 7, "ttlMs": 1}]`))
	_, err := conn.Exec(t.Context(), "update queen.kv set expires_at = '2020-01-01Z' where key = 'dead'")
	must(t, err)
	for _, c := range []struct{ op, reason string }{
		{`"op": "put", "key": "number", "value": 1, "forever": true, "expect": 0`, "exists"},
		{`"op": "put", "key": "number", "value": 1, "forever": true, "expect": 9223372036854775807`, "version"},
		{`"op": "put", "key": "absent", "value": 1, "forever": true, "expect": 9223372036854775807`, "absent"},
		{`"op": "put", "key": "dead", "value": 1, "forever": true, "expect": 9223372036854775807`, "absent"},
		{`"op": "putIfAbsent", "key": "number", "value": 1, "forever": true`, "exists"},
		{`"op": "delete", "key": "number", "expect": 0`, "exists"},
		{`"op": "delete", "key": "number", "expect": 9223372036854775807`, "version"},
		{`"op": "delete", "key": "absent"`, "absent"},
		{`"op": "incr", "key": "number", "delta": 1, "max": 7, "forever": true`, "limit"},
		{`"op": "incr", "key": "number", "delta": -1, "min": 7, "forever": true`, "limit"},
		{`"op": "incr", "key": "number", "delta": 1e36, "forever": true`, "limit"},
		{`"op": "incr", "key": "string", "delta": 1, "forever": true`, "type"},
		{`"op": "incr", "key": "absent", "delta": 1, "max": 0, "forever": true`, "limit"},
		{`"op": "incr", "key": "dead", "delta": 1, "max": 0, "forever": true`, "limit"},
		{`"op": "touch", "key": "number", "forever": true, "expect": 0`, "exists"},
		{`"op": "touch", "key": "number", "forever": true, "expect": 9223372036854775807`, "version"},
		{`"op": "touch", "key": "absent", "forever": true`, "absent"},
		{`"op": "touch", "key": "dead", "forever": true`, "absent"},
		{`"op": "get", "key": "number"`, ""},
		{`"op": "getMany", "keys": ["number", "absent"]`, ""},
		{`"op": "getPrefix", "prefix": "n"`, ""},
	} {
		t.Run(c.op, func(t *testing.T) {
			ops := `[{"ns": "n", ` + c.op + `}]`
			// Once to set the hint bits that a first reader writes, and for the verdict.
			answer := evaluate(t.Context(), conn, "queen.kv_apply_v1($1::jsonb) -> 0", ops)
			if want := `"reason": "` + c.reason + `"`; c.reason != "" && !strings.Contains(answer, want) {
				t.Fatalf("%s, want a verdict with %s", answer, want)
			}
			tx, err := conn.Begin(t.Context())
			must(t, err)
			defer tx.Rollback(t.Context())
			var before, after int64
			scan(t, tx, "select nextval('queen.kv_version_seq')", nil, &before)
			must(t, tx.Rollback(t.Context()))
			tx, err = conn.Begin(t.Context())
			must(t, err)
			records, bytes := wal(t, tx, ops)
			var noID bool
			var locks string
			scan(t, tx, "select pg_current_xact_id_if_assigned() is null", nil, &noID)
			scan(t, tx, `select coalesce(string_agg(distinct mode, ', '), '') from pg_locks
				where pid = pg_backend_pid() and relation = 'queen.kv'::regclass and mode <> 'AccessShareLock'`, nil, &locks)
			scan(t, tx, "select nextval('queen.kv_version_seq')", nil, &after)
			if !noID {
				t.Error("the transaction has an id")
			}
			if records != 0 || bytes != 0 {
				t.Errorf("it wrote %d WAL records, %d bytes", records, bytes)
			}
			if locks != "" {
				t.Errorf("it locks the table: %s", locks)
			}
			if after != before+1 {
				t.Errorf("it drew %d versions", after-before-1)
			}
		})
	}
}

// wal is what a call writes to the WAL, which EXPLAIN counts for this backend alone.
func wal(t *testing.T, q queryer, ops string) (records, bytes int64) {
	t.Helper()
	quoted := "'" + strings.ReplaceAll(ops, "'", "''") + "'"
	return walOf(t, q, "queen.kv_apply_v1("+quoted+")")
}

// walOf is the same of any expression.
func walOf(t *testing.T, q queryer, expression string) (records, bytes int64) {
	t.Helper()
	var text string
	scan(t, q, "explain (analyze, wal, timing off, format json) select "+expression, nil, &text)
	var plans []struct {
		Plan struct {
			Records int64 `json:"WAL Records"`
			Bytes   int64 `json:"WAL Bytes"`
		}
	}
	must(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan.Records, plans[0].Plan.Bytes
}

// The measure itself: a write that applies shows all of it.
func TestWinnersLeaveATrace(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	tx, err := conn.Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context())
	var before, after int64
	var noID bool
	scan(t, tx, "select nextval('queen.kv_version_seq')", nil, &before)
	records, bytes := wal(t, tx, "["+put("k")+"]")
	scan(t, tx, "select pg_current_xact_id_if_assigned() is null", nil, &noID)
	scan(t, tx, "select nextval('queen.kv_version_seq')", nil, &after)
	if noID || records == 0 || bytes == 0 || after != before+2 {
		t.Errorf("no id: %v, %d WAL records, %d bytes, %d versions", noID, records, bytes, after-before-1)
	}
}

// The patterns' losers leave none either: a refused cost, a question, keys that were seen, a lease that another has.
func TestPatternLosersLeaveNoTrace(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	must(t, call(t.Context(), conn, `[{"op": "put", "ns": "n", "key": "a", "value": 7, "ttlSeconds": 3600},
		{"op": "put", "ns": "n", "key": "s", "value": "s", "forever": true}]`))
	for expression, want := range map[string]string{
		"(select bool_or(allowed) from queen.kv_limiter_v1('n', '{a,s,new}', '{1,1,8}', 7, 1000))": "false",
		"(select bool_and(allowed) from queen.kv_limiter_v1('n', '{a,new}', '{0,0}', 7, 1000))":    "true",
		"queen.kv_dedupe_v1('n', '{s,a,a}', 1000)":                                                 "{f,f,f}",
		"(queen.kv_lease_acquire_v1('n', 's', 'me', 1000)).acquired":                               "false",
		"queen.kv_lease_renew_v1('n', 's', 9223372036854775807, 1000) is null":                     "true",
		"queen.kv_lease_release_v1('n', 's', 9223372036854775807)":                                 "false",
	} {
		t.Run(expression, func(t *testing.T) {
			if got := evaluate(t.Context(), conn, expression); got != want { // hint bits are set
				t.Fatalf("%s, want %s", got, want)
			}
			tx, err := conn.Begin(t.Context())
			must(t, err)
			defer tx.Rollback(t.Context())
			records, bytes := walOf(t, tx, expression)
			var noID bool
			var locks string
			scan(t, tx, "select pg_current_xact_id_if_assigned() is null", nil, &noID)
			scan(t, tx, `select coalesce(string_agg(distinct mode, ', '), '') from pg_locks
				where pid = pg_backend_pid() and relation = 'queen.kv'::regclass and mode <> 'AccessShareLock'`, nil, &locks)
			if !noID || records != 0 || bytes != 0 || locks != "" {
				t.Errorf("no transaction id: %v, %d WAL records of %d bytes, locks %q", noID, records, bytes, locks)
			}
		})
	}
}
