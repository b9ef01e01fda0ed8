package races

import (
	"fmt"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A write that waited until after the expiry it was going to write is not born dead: with the
// clock (p_now NULL) the lifetime counts anew from when it is done. With p_now it doesn't.
func TestWaitedLongerThanItsTTL(t *testing.T) {
	t.Parallel()
	const ttl = 150 * time.Millisecond
	const put = `"op": "put", "value": 1, "forever": true`
	cases := map[string]struct{ before, a, end, b string }{
		"put":                  {put, put, "commit", `"op": "put", "value": 2, "ttlMs": 150`},
		"put of an absent key": {"", put, "rollback", `"op": "put", "value": 2, "ttlMs": 150`},
		"putIfAbsent":          {"", put, "rollback", `"op": "putIfAbsent", "value": 2, "ttlMs": 150`},
		"incr":                 {put, `"op": "delete"`, "commit", `"op": "incr", "delta": 1, "ttlMs": 150`},
		"incr of a live key":   {`"op": "put", "value": 1, "ttlMs": 60000`, `"op": "incr", "delta": 1, "forever": true`, "commit", `"op": "incr", "delta": 1, "ttlMs": 150`},
		"touch":                {put, put, "commit", `"op": "touch", "ttlMs": 150`},
		"put among others":     {put, put, "commit", `"op": "put", "value": 2, "ttlMs": 150`},
	}
	for name, c := range cases {
		for _, clock := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, by the clock: %v", name, clock), func(t *testing.T) {
				t.Parallel()
				s := sessions(t, testdb.New(t, nil), 3)
				a, b, watch := s[0], s[1], s[2]
				keys := [][2]string{{namespace, "key"}, {namespace, "other"}}
				if name != "put among others" {
					keys = keys[:1]
				}
				if c.before != "" {
					a.mustApply(callOf(keys, func(int) string { return c.before }))
				}
				a.begin(readCommitted)
				a.mustApply(callOf(keys[:1], func(int) string { return c.a }))
				given := now(watch)
				var answer struct{ expires, stored time.Time }
				var err error
				done := make(chan struct{})
				go func() {
					defer close(done)
					err = b.QueryRow(t.Context(), `select (queen.kv_apply_v1($1::jsonb, p_now => case when $2 then null else $3::timestamptz end)
							-> 0 ->> 'expiresAt')::timestamptz`,
						callOf(keys, func(int) string { return c.b }), clock, given).Scan(&answer.expires)
				}()
				waits, errWatch := blockedBy(t.Context(), watch.Conn, b.PgConn().PID(), a.PgConn().PID(), done)
				if errWatch != nil || !waits {
					t.Fatalf("waits: %v, %v; %v", waits, errWatch, err)
				}
				watch.exec("select pg_sleep($1)", (ttl + time.Millisecond).Seconds()) // B has read the clock before
				freed := now(watch)
				a.exec(c.end)
				if <-done; err != nil {
					t.Fatal(err)
				}
				if err := b.QueryRow(t.Context(), "select expires_at from queen.kv where key = 'key'").Scan(&answer.stored); err != nil {
					t.Fatal(err)
				}
				if !answer.stored.Equal(answer.expires) {
					t.Errorf("the verdict says %v, and the row %v", answer.expires, answer.stored)
				}
				switch {
				case name == "incr of a live key":
					if left := answer.stored.Sub(freed); left < 30*time.Second || left > time.Minute {
						t.Errorf("a live key had a minute, and has %v", left)
					}
				case clock && answer.stored.Before(freed.Add(ttl)):
					t.Errorf("it expires %v after the wait, want %v at least", answer.stored.Sub(freed), ttl)
				case !clock && !answer.stored.Equal(given.Add(ttl)):
					t.Errorf("it expires %v after p_now, want %v", answer.stored.Sub(given), ttl)
				}
			})
		}
	}
}

// Once counts its retention from begin, and anew from end where it has passed by then.
func TestOnceWaitedLongerThanItsTTL(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 3)
	a, b, watch := s[0], s[1], s[2]
	a.begin(readCommitted)
	a.mustOnce("key", begun{}, "run")
	b.begin(readCommitted)
	w := b.onceInBackground("key", begun{ttlMs: 150})
	w.waitsFor(watch, a)
	watch.exec("select pg_sleep(0.151)")
	a.rollback()
	w.returns("run")
	next := a.onceInBackground("key", begun{})
	next.waitsFor(watch, b)
	watch.exec("select pg_sleep(0.151)") // the effect takes longer than the retention
	b.mustOnce("key", begun{ttlMs: 150}, "reentry")
	ended := now(watch)
	b.mustEnd("key", w.answer.token, "b's")
	b.commit()
	next.returns("replay")
	var expires time.Time
	if err := watch.QueryRow(t.Context(), "select expires_at from queen.kv").Scan(&expires); err != nil {
		t.Fatal(err)
	}
	if left := expires.Sub(ended); left < 150*time.Millisecond {
		t.Errorf("it expires %v after its end, want 150ms at least", left)
	}
}

// A lifetime counts from the call, not from the beginning of a transaction that is old already.
func TestLifetimeCountsFromTheCall(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 1)[0]
	s.begin(readCommitted)
	s.exec("select pg_sleep(0.2)")
	called := now(s)
	for op, n := range map[string]int{`"op": "put", "value": 1`: 1, `"op": "putIfAbsent", "value": 1`: 1, `"op": "incr", "delta": 1`: 1, `"op": "put", "value": 2`: 2} {
		s.exec("delete from queen.kv")
		keys := [][2]string{{namespace, "key"}, {namespace, "other"}}[:n]
		for _, r := range s.mustApply(callOf(keys, func(int) string { return op + `, "ttlMs": 60000` })) {
			if left := r.ExpiresAt.Sub(called); left < time.Minute {
				t.Errorf("%s: it lives %v from the call on, want a minute", op, left)
			}
		}
	}
	s.mustOnce("once", begun{}, "run")
	var expires time.Time
	if err := s.QueryRow(t.Context(), "select expires_at from queen.kv where key = 'once'").Scan(&expires); err != nil {
		t.Fatal(err)
	}
	if left := expires.Sub(called); left < time.Minute {
		t.Errorf("Once: it lives %v from the call on, want a minute", left)
	}
}

// now is the server's clock.
func now(s *session) (t time.Time) {
	s.t.Helper()
	if err := s.QueryRow(s.t.Context(), "select clock_timestamp()").Scan(&t); err != nil {
		s.t.Fatal(err)
	}
	return t
}
