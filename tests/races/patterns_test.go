package races

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// An asking is a call of one of the patterns in a goroutine of its own: the text of one expression; err and answer are there when
// done is closed.
type asking struct {
	*session
	done   chan struct{}
	answer string
	err    error
}

func (s *session) ask(expression string) (answer string, err error) {
	err = s.QueryRow(s.t.Context(), "select coalesce(("+expression+")::text, 'NULL')").Scan(&answer)
	return answer, err
}

func (s *session) mustAsk(expression, want string) {
	s.t.Helper()
	if got, err := s.ask(expression); err != nil || got != want {
		s.t.Fatalf("%s: %s, %v, want %s", expression, got, err, want)
	}
}

func (s *session) askInBackground(expression string) *asking {
	a := &asking{session: s, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.answer, a.err = s.ask(expression)
	}()
	return a
}

// waitsFor asserts that the call waits for a lock of holder.
func (a *asking) waitsFor(watch, holder *session) {
	a.t.Helper()
	waits, err := blockedBy(a.t.Context(), watch.Conn, a.PgConn().PID(), holder.PgConn().PID(), a.done)
	if err != nil || !waits {
		a.t.Fatalf("waits: %v, %v; or it has returned: %s, %v", waits, err, a.answer, a.err)
	}
}

// returns is the answer, or the SQLSTATE and the message, which must come.
func (a *asking) returns(want string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), waitLimit)
	defer cancel()
	select {
	case <-a.done:
	case <-ctx.Done():
		a.t.Fatalf("it still waits, after %v", waitLimit)
	}
	got := a.answer
	if a.err != nil {
		code, message := sqlState(a.err)
		got = code
		if strings.HasPrefix(message, "kv_") {
			got += " " + message
		}
	}
	if got != want {
		a.t.Fatalf("after the wait: %s, %v, want %s", got, a.err, want)
	}
}

// The race that a guard is for: the holder has looked at its lease, and then its time runs out and another one comes, all before the
// holder commits. The other's acquire waits for that commit, so that what the two did is never mixed.
func TestGuardHoldsOffTheNextHolder(t *testing.T) {
	t.Parallel()
	const (
		now     = "timestamptz '2031-05-05 12:00:00Z'"
		acquire = `(queen.kv_lease_acquire_v1('races', 'lease', 'b', 60000, p_now => ` + now + ` + interval '90 s')).acquired`
	)
	for _, isolation := range []string{readCommitted, repeatableRead, serializable} {
		for _, end := range []string{"commit", "rollback"} {
			t.Run(isolation+", "+end, func(t *testing.T) {
				t.Parallel()
				s := sessions(t, testdb.New(t, nil), 3)
				a, b, watch := s[0], s[1], s[2]
				a.exec("create table effects (holder text)")
				token := fmt.Sprint(a.count(`select token from queen.kv_lease_acquire_v1('races', 'lease', 'a', 60000, p_now => ` + now + `)`))
				guard := func(at string) string {
					return `queen.kv_lease_guard_v1('races', 'lease', ` + token + `, p_now => ` + now + ` + interval '` + at + `') is not null`
				}

				a.begin(isolation)
				a.mustAsk(guard("1 s"), "true")
				a.exec("insert into effects values ('a')")
				next := b.askInBackground(acquire) // by now the lease is over
				next.waitsFor(watch, a)
				a.exec(end)
				next.returns("true")
				if got := watch.count("select count(*) from effects"); got != map[string]int64{"commit": 1, "rollback": 0}[end] {
					t.Errorf("%d effects when the next holder has its lease", got)
				}
				a.askInBackground(guard("59 s")).returns("55000 kv_lease_lost")
			})
		}
	}
}

// A guard that meets a renewal which is not committed waits, and holds for the row as renewed; one that meets a release is lost.
func TestGuardWaits(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 3)
	a, b, watch := s[0], s[1], s[2]
	take := func() (token string) {
		return fmt.Sprint(a.count(`select token from queen.kv_lease_acquire_v1('races', 'lease', 'a', 3600000)`))
	}
	for _, c := range []struct{ isolation, call, answer, want string }{
		{readCommitted, "queen.kv_lease_renew_v1('races', 'lease', %s, 60000) is not null", "true", "true"},
		{repeatableRead, "queen.kv_lease_renew_v1('races', 'lease', %s, 60000) is not null", "true", "40001"},
		{readCommitted, "queen.kv_lease_release_v1('races', 'lease', %s)", "true", "55000 kv_lease_lost"},
		{serializable, "queen.kv_lease_release_v1('races', 'lease', %s)", "true", "40001"},
	} {
		token := take()
		a.begin(readCommitted)
		a.mustAsk(fmt.Sprintf(c.call, token), c.answer)
		b.begin(c.isolation)
		guard := b.askInBackground("queen.kv_lease_guard_v1('races', 'lease', " + token + ") is not null")
		guard.waitsFor(watch, a)
		a.commit()
		guard.returns(c.want)
		b.rollback()
		a.exec("delete from queen.kv")
	}
}

// The holder's own renewal and release wait for its guard, and then do what they would have done.
func TestGuardKeepsRenewalsWaiting(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 3)
	a, b, watch := s[0], s[1], s[2]
	token := fmt.Sprint(a.count(`select token from queen.kv_lease_acquire_v1('races', 'lease', 'a', 3600000)`))
	for _, call := range []string{
		"queen.kv_lease_renew_v1('races', 'lease', " + token + ", 3600000) is not null",
		"queen.kv_lease_release_v1('races', 'lease', " + token + ")",
	} {
		a.begin(readCommitted)
		a.mustAsk("queen.kv_lease_guard_v1('races', 'lease', "+token+") is not null", "true")
		waiting := b.askInBackground(call)
		waiting.waitsFor(watch, a)
		a.commit()
		waiting.returns("true")
	}
}

// Who meets an uncommitted acquire, hit or new key waits for its end and then decides; above READ COMMITTED it gets 40001.
func TestPatternsWait(t *testing.T) {
	t.Parallel()
	const (
		acquire = `(queen.kv_lease_acquire_v1('races', 'k', 'me', 3600000)).acquired`
		dedupe  = `queen.kv_dedupe_v1('races', '{j,k,l}', 3600000)`
		hit     = `(select allowed from queen.kv_limiter_v1('races', '{k}', null, 1, 3600000))`
	)
	for name, c := range map[string]struct{ seed, first, firstAnswer, second, committed, rolledBack string }{
		"acquire":             {"", acquire, "true", acquire, "false", "true"},
		"dedupe":              {"", `queen.kv_dedupe_v1('races', '{k}', 3600000)`, "{t}", dedupe, "{t,f,t}", "{t,t,t}"},
		"dedupe over expired": {"1 s", `queen.kv_dedupe_v1('races', '{k}', 3600000)`, "{t}", dedupe, "{t,f,t}", "{t,t,t}"},
		"a first hit":         {"", hit, "true", hit, "false", "true"},
		"a hit over expired":  {"1 s", hit, "true", hit, "false", "true"},
		"a second hit":        {"-1 hour", hit, "true", hit, "false", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sessions(t, testdb.New(t, nil), 3)
			a, b, watch := s[0], s[1], s[2]
			for _, isolation := range []string{readCommitted, repeatableRead, serializable} {
				for _, end := range []string{"commit", "rollback"} {
					a.exec("delete from queen.kv")
					if c.seed != "" {
						a.exec("insert into queen.kv (namespace, key, value, expires_at) values ('races', 'k', '0', clock_timestamp() - $1::text::interval)", c.seed)
					}
					a.begin(readCommitted)
					a.mustAsk(c.first, c.firstAnswer)
					b.begin(isolation)
					second := b.askInBackground(c.second)
					second.waitsFor(watch, a)
					a.exec(end)
					switch {
					case end == "rollback":
						second.returns(c.rolledBack)
					case isolation == readCommitted:
						second.returns(c.committed)
					default:
						second.returns("40001")
					}
					b.rollback()
				}
			}
		})
	}
}

// In a snapshot that saw a row which is gone now, a new key is 40001 and never a second row.
func TestDedupeOfARowDeletedBeside(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 2)
	a, b := s[0], s[1]
	for _, isolation := range []string{repeatableRead, serializable} {
		a.exec("insert into queen.kv (namespace, key, value, expires_at) values ('races', 'k', '1', '2020-01-01Z')")
		b.begin(isolation)
		b.count("select count(*) from queen.kv")
		a.exec("delete from queen.kv")
		b.askInBackground(`queen.kv_dedupe_v1('races', '{k}', 60000)`).returns("40001")
		b.rollback()
	}
}

// A call that waits for a key holds those below it in byte order and none above, whatever their order in the call and whichever of
// them are expired.
func TestPatternsTakeKeysInOrder(t *testing.T) {
	t.Parallel()
	const (
		below = "B,Z,a,b,k"
		above = "m,z,~,é,ω,日,y,x,w,v,u,t,s,r,q,p,o"
		list  = "ω,a,日,m,y,x,l,w,v,~,u,t,B,s,r,k,q,z,p,o,é,b,Z"
	)
	for name, c := range map[string]struct{ call, expired string }{
		"dedupe":                {"queen.kv_dedupe_v1('races', '{%s}', 3600000) is not null", ""},
		"dedupe, some expired":  {"queen.kv_dedupe_v1('races', '{%s}', 3600000) is not null", "a,é,z"},
		"limiter":               {"(select count(*) from queen.kv_limiter_v1('races', '{%s}', null, 9, 3600000)) > 0", ""},
		"limiter, some expired": {"(select count(*) from queen.kv_limiter_v1('races', '{%s}', null, 9, 3600000)) > 0", "a,é,z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sessions(t, testdb.New(t, nil), 4)
			a, b, other, watch := s[0], s[1], s[2], s[3]
			a.exec("insert into queen.kv (namespace, key, value, expires_at) select 'races', k, '1', '2020-01-01Z' from unnest($1::text[]) as k", "{"+c.expired+"}")
			a.begin(readCommitted)
			a.mustAsk(fmt.Sprintf(c.call, "l"), "true")
			b.begin(readCommitted)
			waiting := b.askInBackground(fmt.Sprintf(c.call, list))
			waiting.waitsFor(watch, a)
			other.begin(readCommitted)
			other.exec("set local lock_timeout = '10s'")
			other.mustAsk(fmt.Sprintf(c.call, above), "true") // nobody holds one of them
			other.rollback()
			for _, key := range strings.Split(below, ",") {
				other.begin(readCommitted)
				held := other.askInBackground(fmt.Sprintf(c.call, key))
				held.waitsFor(watch, b)
				watch.exec("select pg_cancel_backend($1)", int32(other.PgConn().PID()))
				held.returns("57014")
				other.rollback()
			}
			a.commit()
			waiting.returns("true")
		})
	}
}

// However the keys stand in two calls, they are locked in one order: calls alone in their transactions are in no deadlock, and every
// key is new to one, and hit as often as fits.
func TestPatternsLockInOrder(t *testing.T) {
	t.Parallel()
	const rounds = 6
	keys := []string{"B", "a", "b", "é", "a b", "a\u200bb", "Z", "z", "_", "~"}
	s := sessions(t, testdb.New(t, nil), many)
	list := func() string {
		shuffled := append([]string(nil), keys...)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		return `'{"` + strings.Join(shuffled, `","`) + `"}'`
	}
	var mu sync.Mutex
	fresh, allowed := map[int]int{}, map[int]int{}
	for round := range rounds {
		if round%3 == 1 { // some expired, among absent ones
			s[0].exec("insert into queen.kv (namespace, key, value, expires_at) select 'seen' || $1::int, k, '1', '2020-01-01Z' from unnest(array['B', 'b', 'z']) as k", round)
		}
		each(t, s, func(_ int, s *session) error {
			a, err := s.ask(fmt.Sprintf(`cardinality(array_positions(queen.kv_dedupe_v1('seen%d', %s, 3600000), true))`, round, list()))
			if err != nil {
				return err
			}
			b, err := s.ask(fmt.Sprintf(`(select count(*) from queen.kv_limiter_v1('rate%d', %s, null, 3, 3600000) where allowed)`, round, list()))
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			var n, m int
			if _, err := fmt.Sscan(a+" "+b, &n, &m); err != nil {
				return err
			}
			fresh[round] += n
			allowed[round] += m
			return nil
		})
		if fresh[round] != len(keys) || allowed[round] != 3*len(keys) {
			t.Errorf("round %d: %d of %d keys were new to somebody, %d of %d hits allowed",
				round, fresh[round], len(keys), allowed[round], 3*len(keys))
		}
	}
}
