package sql

import (
	"strings"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/testdb"
)

// at is the instant at which the calls of these tests begin; windows and times to live are of 60 seconds.
const at = "2031-05-05 12:00:00Z"

// limiter is kv_limiter_v1 in namespace n: a line a position, "key allowed reason remaining, seconds from at to reset_at".
func limiter(args, now string) string {
	return `(select coalesce(string_agg(concat_ws(' ', l.key, l.allowed, l.reason, l.remaining,
			extract(epoch from l.reset_at - timestamptz '` + at + `')::int), ', ' order by l.ordinality), 'no rows')
		from queen.kv_limiter_v1('n', ` + args + `, p_now => timestamptz '` + at + `' + interval '` + now + `') as l)`
}

// A case is a list of calls one after the other on an empty table, and what each must answer.
type step struct{ call, want string }

func playSteps(t *testing.T, cases map[string][]step) {
	t.Helper()
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := testdb.New(t, nil).Conn(t)
			for i, s := range steps {
				if got := evaluate(t.Context(), conn, s.call); got != s.want {
					t.Fatalf("step %d, %s\n  want %s\n  got  %s", i, s.call, s.want, got)
				}
			}
		})
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	incr := `queen.kv_apply_v1('[{"op": "incr", "ns": "n", "key": "a", "delta": %, "ttlMs": 60000}]', p_now => '` + at + `') -> 0 -> 'value'`
	put := func(value, expiry string) string {
		return `queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "a", "value": ` + value + `, ` + expiry + `}]', p_now => '` + at + `') -> 0 -> 'applied'`
	}
	playSteps(t, map[string][]step{
		"the window opens with the first hit and closes at its own time": {
			{limiter("'{a}', null, 2, 60000", "0 s"), "a t 1 60"},
			{limiter("'{a}', null, 2, 60000", "30 s"), "a t 0 60"},
			{limiter("'{a}', null, 2, 60000", "59.999999 s"), "a f limit 0 60"},
			{limiter("'{a}', null, 2, 60000", "60 s"), "a t 1 120"},
		},
		"a refused cost consumes nothing": {
			{limiter("'{a}', '{3}', 4, 60000", "0 s"), "a t 1 60"},
			{limiter("'{a}', '{2}', 4, 60000", "1 s"), "a f limit 1 60"},
			{limiter("'{a}', '{1}', 4, 60000", "1 s"), "a t 0 60"},
		},
		"a refused first cost opens no window": {
			{limiter("'{a}', '{5}', 4, 60000", "0 s"), "a f limit 4"},
			{"(select count(*) from queen.kv)", "0"},
		},
		"positions keep their order, and repeats see each other": {
			{limiter("'{b,a,b,B,b}', '{1,2,1,3,1}', 2, 60000", "0 s"), "b t 1 60, a t 0 60, b t 0 60, B f limit 2, b f limit 0 60"},
		},
		"a repeat that fits is taken after one that does not": {
			{limiter("'{a,a,a}', '{2,2,1}', 3, 60000", "0 s"), "a t 1 60, a f limit 1 60, a t 0 60"},
		},
		"a cost of 0 asks": {
			{limiter("'{a}', '{0}', 2, 60000", "0 s"), "a t 2"},
			{limiter("'{a,a}', '{2,0}', 2, 60000", "0 s"), "a t 0 60, a t 0 60"},
			{limiter("'{a}', '{0}', 1, 60000", "1 s"), "a f limit 0 60"}, // a smaller limit than what is used
			{limiter("'{a}', '{0}', 2, 60000", "60 s"), "a t 2"},
		},
		"a limit of 0 refuses": {{limiter("'{a,a}', '{1,0}', 0, 60000", "0 s"), "a f limit 0, a t 0"}},
		"no keys":              {{limiter("'{}', null, 2, 60000", "0 s"), "no rows"}, {limiter("'{}', '{}', 2, 60000", "0 s"), "no rows"}},
		"incr and the limiter count together": {
			{limiter("'{a}', '{3}', 10, 60000", "0 s"), "a t 7 60"},
			{strings.Replace(incr, "%", "2.5", 1), "5.5"},
			{limiter("'{a}', '{4}', 10, 60000", "1 s"), "a t 0 60"}, // 9.5: half is left, and that is nothing whole
			{strings.Replace(incr, "%", "-100", 1), "-90.5"},
			{limiter("'{a}', '{0}', 10, 60000", "1 s"), "a t 100 60"},
		},
		"a counter that lives for ever has no reset": {
			{put("1", `"forever": true`), "true"},
			{limiter("'{a}', null, 2, 60000", "0 s"), "a t 0"},
			{limiter("'{a}', null, 2, 60000", "1 s"), "a f limit 0"},
		},
		"another type refuses while it lives, whatever the cost": {
			{put(`"text"`, `"ttlMs": 60000`), "true"},
			{limiter("'{a,a,b}', '{1,0,1}', 2, 60000", "0 s"), "a f type 0 60, a f type 0 60, b t 1 60"},
			{limiter("'{a}', null, 2, 60000", "60 s"), "a t 1 120"},
		},
		"JSON null is another type": {
			{put("null", `"ttlMs": 60000`), "true"},
			{limiter("'{a,a}', '{1,0}', 2, 60000", "0 s"), "a f type 0 60, a f type 0 60"},
		},
		"extremes": {
			{limiter("'{a}', '{9223372036854775807}', 9223372036854775807, 60000", "0 s"), "a t 0 60"},
			{limiter("'{a}', '{9223372036854775807}', 9223372036854775807, 60000", "0 s"), "a f limit 0 60"},
			{strings.Replace(incr, "%", "-1e36", 1), "-999999999999999990776627963145224193"},
			{limiter("'{a}', '{0}', 9223372036854775807, 60000", "0 s"), "a t 9223372036854775807 60"},
		},
		"arrays of any shape are lists": {
			{limiter("'{{a,b},{c,a}}', '[5:8]={1,1,1,2}', 2, 60000", "0 s"), "a t 1 60, b t 1 60, c t 1 60, a f limit 1 60"},
		},
		"tenants are apart": {
			{limiter("'{a}', null, 1, 60000", "0 s"), "a t 0 60"},
			{limiter("'{a}', null, 1, 60000, '00000000-0000-0000-0000-000000000002'", "0 s"), "a t 0 60"},
			{limiter("'{a}', null, 1, 60000", "0 s"), "a f limit 0 60"},
		},
	})
}

// What is wrong with the arguments, the first fault of all of them first.
func TestLimiterFaults(t *testing.T) {
	t.Parallel()
	var checks []check
	for args, code := range map[string]string{
		"'N', null, '{-1}', -1, 0, null":                                   "kv_bad_request", // the tenant
		"'N', null, '{-1}', -1, 0, p_now => 'infinity'":                    "kv_bad_request",
		"'N', null, '{-1}', -1, 0":                                         "kv_bad_namespace",
		"null, null, '{-1}', -1, 0":                                        "kv_bad_namespace",
		"'n', null, '{-1}', -1, 0":                                         "kv_bad_request",
		"'n', '{k,NULL}', '{-1}', -1, 0":                                   "kv_bad_key",
		"'n', array['k', repeat('k', 2049), ''], '{-1}', -1, 0":            "kv_key_too_large",
		"'n', array_fill('k'::text, '{4097}'), '{-1}', -1, 0":              "kv_bad_ttl",
		"'n', array_fill('k'::text, '{4097}'), '{-1}', -1, null":           "kv_bad_ttl",
		"'n', array_fill('k'::text, '{4097}'), '{-1}', -1, 3155760000001":  "kv_bad_ttl",
		"'n', array_fill('k'::text, '{4097}'), '{-1}', -1, 1":              "kv_bad_request",
		"'n', '{k,k}', '{-1,NULL}', -1, 1":                                 "kv_bad_request",
		"'n', '{{k,k}}', '{{1,NULL}}', 1, 1":                               "kv_bad_request", // an array of any shape is a list
		"'n', '{k,k}', '{-1,0}', -1, 1":                                    "kv_bad_number",
		"'n', '{k,k}', '{1,0}', -1, 1":                                     "kv_bad_number",
		"'n', '{k,k}', '{1,0}', null, 1":                                   "kv_bad_request",
		"'n', array_fill('k'::text, '{4097}'), null, 1, 1":                 "kv_too_many_keys",
		"'n', array_fill('k'::text, '{4097}'), null, -1, 1":                "kv_bad_number",
		"'n', array_fill('k'::text, '{4097}'), array_fill(1, '{4}'), 1, 1": "kv_bad_request",
	} {
		want := "22023 " + code
		if code == "kv_key_too_large" {
			want = "22001 " + code
		}
		checks = append(checks, check{"(select count(*) from queen.kv_limiter_v1(" + args + "))", want})
	}
	checks = append(checks, check{"(select count(*) from queen.kv_limiter_v1('n', array_fill('k'::text, '{4096}'), null, 5, 1000))", "4096"})
	checkAll(t, checks)
}

// What was written after a wait that outlived its time is stamped again: it lives from the end of the wait.
func TestPatternsThatWaitedLongerThanTheirTime(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	a, b := db.Conn(t), db.Conn(t)
	for name, expression := range map[string]string{
		"limiter": "(select allowed from queen.kv_limiter_v1('n', '{k}', null, 5, 20))",
		"lease":   "(queen.kv_lease_acquire_v1('n', 'k', 'me', 20)).acquired",
		"dedupe":  "(queen.kv_dedupe_v1('n', '{k}', 20))[1]",
	} {
		tx, err := a.Begin(t.Context())
		must(t, err)
		must(t, call(t.Context(), tx, "["+put("k")+"]"))
		done := make(chan string, 1)
		go func() { done <- evaluate(t.Context(), b, expression) }()
		testdb.WaitForLock(t, db, b.PgConn().PID())
		var freed time.Time
		scan(t, tx, "select clock_timestamp() from pg_sleep(0.03)", nil, &freed)
		must(t, tx.Rollback(t.Context()))
		if got := <-done; got != "true" {
			t.Fatalf("%s: %s", name, got)
		}
		if at := expiry(t, a, "k"); at.Before(freed.Add(20 * time.Millisecond)) {
			t.Errorf("%s: what it wrote ends at %v, less than its time after %v, when the wait ended", name, at, freed)
		}
		_, err = a.Exec(t.Context(), "delete from queen.kv")
		must(t, err)
	}
}
