package sql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

func clock(t *testing.T, q queryer) (now time.Time) {
	t.Helper()
	scan(t, q, "select clock_timestamp()", nil, &now)
	return now
}

func expiry(t *testing.T, q queryer, key string) (at time.Time) {
	t.Helper()
	scan(t, q, "select expires_at from queen.kv where key = $1", []any{key}, &at)
	return at
}

// p_now NULL is the clock when the call begins, not when the transaction or the statement began:
// what is written late in a long transaction with a short lifetime is not born dead.
func TestNowIsTheClock(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for _, ttl := range []time.Duration{50 * time.Millisecond, time.Minute} { // over since the transaction began, and not
		tx, err := conn.Begin(t.Context())
		must(t, err)
		scan(t, tx, "select now()", nil, new(time.Time))
		_, err = tx.Exec(t.Context(), "select pg_sleep(0.06)")
		must(t, err)
		for key, statement := range map[string]string{
			"put":         `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "put", "value": 1, "ttlMs": TTL}]')`,
			"put, expect": `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "put, expect", "value": 1, "expect": 0, "ttlMs": TTL}]')`,
			"putIfAbsent": `select queen.kv_apply_v1('[{"op": "putIfAbsent", "ns": "n", "key": "putIfAbsent", "value": 1, "ttlMs": TTL}]')`,
			"incr":        `select queen.kv_apply_v1('[{"op": "incr", "ns": "n", "key": "incr", "delta": 1, "ttlMs": TTL}]')`,
			"touch": `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "touch", "value": 1, "forever": true},
				{"op": "touch", "ns": "n", "key": "touch", "ttlMs": TTL}]')`,
			"puts": `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "puts", "value": 1, "ttlMs": TTL}, ` + put("beside") + `]')`,
			"once": `select queen.kv_once_begin_v1('n', 'once', TTL)`,
			// The call comes late in its own statement, too.
			"late": `select queen.kv_apply_v1(jsonb_build_array(jsonb_build_object('op', 'put', 'ns', 'n', 'key', 'late', 'value', s.v, 'ttlMs', TTL)))
				from (select pg_sleep(0.06)::text as v offset 0) as s`,
		} {
			before := clock(t, tx)
			if key == "late" {
				before = before.Add(60 * time.Millisecond)
			}
			_, err := tx.Exec(t.Context(), strings.ReplaceAll(statement, "TTL", strconv.FormatInt(ttl.Milliseconds(), 10)))
			must(t, err)
			after := clock(t, tx)
			if from := expiry(t, tx, key).Add(-ttl); from.Before(before) || from.After(after) {
				t.Errorf("%s for %v: lives from %v, want a time from %v to %v", key, ttl, from, before, after)
			}
		}
		must(t, tx.Rollback(t.Context()))
	}
}

// One call has one instant, also when it waits for a lock in its middle.
func TestOneInstantForTheCall(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	must(t, call(t.Context(), db.Conn(t), "["+put("m")+"]"))
	w := wait(t, db, put("m"), `[{"op": "put", "ns": "n", "key": "a", "value": 1, "forever": true}, {"op": "incr", "ns": "n", "key": "m", "delta": 1, "ttlMs": 60000},
		{"op": "putIfAbsent", "ns": "n", "key": "z", "value": 1, "ttlMs": 60000}, {"op": "put", "ns": "n", "key": "a", "value": 1, "ttlMs": 60000}]`)
	w.end(t, "commit")
	if w.answer == "" {
		t.Fatal("no answer")
	}
	var instants int
	scan(t, db.Conn(t), `select count(distinct i) from (
		select updated_at as i from queen.kv where key in ('a', 'm', 'z')
		union all select expires_at - interval '60 s' from queen.kv where key in ('a', 'z')) as s`, nil, &instants)
	if instants != 1 {
		t.Errorf("%d instants in one call: %s", instants, w.answer)
	}
}

// An expiry that passed while the op waited for a lock is stamped again, from the clock.
func TestExpiryIsStampedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, held, ops, end string }{
		{"put", put("k"), put("k"), `[{"op": "put", "ns": "n", "key": "k", "value": 2, "ttlMs": 30}]`, "commit"},
		{"put, the other one rolls back", put("k"), put("k"), `[{"op": "put", "ns": "n", "key": "k", "value": 2, "ttlMs": 30}]`, "rollback"},
		{"put of a new key", "", put("k"), `[{"op": "put", "ns": "n", "key": "k", "value": 2, "ttlMs": 30}]`, "commit"},
		{"putIfAbsent", "", put("k"), `[{"op": "putIfAbsent", "ns": "n", "key": "k", "value": 2, "ttlMs": 30}]`, "rollback"},
		{"incr", "", put("k"), `[{"op": "incr", "ns": "n", "key": "k", "delta": 2, "ttlMs": 30}]`, "rollback"},
		{"touch", put("k"), put("k"), `[{"op": "touch", "ns": "n", "key": "k", "ttlMs": 30}]`, "commit"},
		{"puts", put("k"), put("k"), `[{"op": "put", "ns": "n", "key": "k", "value": 2, "ttlMs": 30}, ` + put("l") + `]`, "commit"},
		{"the first of two ops", put("m"), put("m"), `[{"op": "put", "ns": "n", "key": "k", "value": 2, "ttlMs": 30, "expect": 0},
			{"op": "incr", "ns": "n", "key": "m", "delta": 1, "forever": true}]`, "commit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, nil)
			conn := db.Conn(t)
			if c.before != "" {
				must(t, call(t.Context(), conn, "["+c.before+"]"))
			}
			w := wait(t, db, c.held, c.ops)
			// It began before its wait was seen: from here, 60 ms later its 30 ms are over.
			_, err := conn.Exec(t.Context(), "select pg_sleep(0.06)")
			must(t, err)
			freed := clock(t, conn)
			w.end(t, c.end)
			if w.answer == "" {
				t.Fatal("no answer")
			}
			var verdict time.Time
			scan(t, conn, "select ($1::jsonb -> 0 ->> 'expiresAt')::timestamptz", []any{w.answer}, &verdict)
			if row := expiry(t, conn, "k"); !row.Equal(verdict) {
				t.Errorf("the verdict says %v, the row %v", verdict, row)
			}
			if from := verdict.Add(-30 * time.Millisecond); c.name != "the first of two ops" && from.Before(freed) {
				t.Errorf("lives from %v, before the lock was freed at %v", from, freed)
			}
		})
	}
}

// With p_now the expiry is p_now's, whatever the clock says.
func TestGivenNowIsKept(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for _, ops := range []string{
		`[{"op": "put", "ns": "n", "key": "k", "value": 1, "ttlMs": 1}]`,
		`[{"op": "put", "ns": "n", "key": "k", "value": 1, "ttlMs": 1}, ` + put("l") + `]`,
		`[{"op": "incr", "ns": "n", "key": "k", "delta": 1, "ttlMs": 1}]`,
	} {
		apply(t.Context(), conn, ops, "2020-01-01Z")
		if at, want := expiry(t, conn, "k"), time.Date(2020, 1, 1, 0, 0, 0, 1e6, time.UTC); !at.Equal(want) {
			t.Errorf("expires at %v, want %v", at, want)
		}
	}
}

// waiting is a call that waits for a row that another session has written and not committed.
type waiting struct {
	holder pgx.Tx
	done   chan struct{}
	answer string
}

// wait starts the call, and returns when pg_stat_activity shows that it waits for a lock.
func wait(t *testing.T, db *testdb.DB, held, ops string) *waiting {
	t.Helper()
	w := &waiting{done: make(chan struct{})}
	var err error
	w.holder, err = db.Conn(t).Begin(t.Context())
	must(t, err)
	t.Cleanup(func() { w.holder.Rollback(context.WithoutCancel(t.Context())) })
	var answer string
	scan(t, w.holder, "select queen.kv_apply_v1($1::jsonb)::text", []any{"[" + held + "]"}, &answer)
	conn := db.Conn(t)
	go func() {
		defer close(w.done)
		if err := conn.QueryRow(t.Context(), "select queen.kv_apply_v1($1::jsonb)::text", ops).Scan(&w.answer); err != nil {
			t.Error(err)
		}
	}()
	event := testdb.WaitForLock(t, db, conn.PgConn().PID())
	if event != "transactionid" {
		t.Errorf("it waits for %s, want the holder's transactionid", event)
	}
	return w
}

// end commits or rolls back what was held, and waits for the answer.
func (w *waiting) end(t *testing.T, how string) {
	t.Helper()
	_, err := w.holder.Exec(t.Context(), how)
	must(t, err)
	select {
	case <-w.done:
	case <-time.After(15 * time.Second):
		t.Fatal(fmt.Errorf("still waiting after the holder's %s", how))
	}
}
