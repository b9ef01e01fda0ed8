package races

import (
	"fmt"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A busy verdict comes at once and harms nothing: the transaction goes on, and asks again.
func TestOnceBusy(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 3)
	a, b, watch := s[0], s[1], s[2]
	for _, isolation := range []string{readCommitted, repeatableRead, serializable} {
		a.begin(readCommitted)
		run := a.mustOnce(isolation, begun{}, "run")
		b.begin(isolation)
		b.exec("set local lock_timeout = '10s'") // busy waits for nobody
		b.mustOnce(isolation, begun{busy: true}, "busy")
		b.mustApply(`[{"op": "put", "ns": "races", "key": "beside", "value": 1, "forever": true}]`)
		a.mustEnd(isolation, run.token, "a's")
		b.mustOnce(isolation, begun{busy: true}, "busy") // finished, but not committed
		a.commit()
		if isolation == readCommitted {
			if got := b.mustOnce(isolation, begun{busy: true}, "replay"); got.result != "a's" {
				t.Errorf("replayed %q", got.result)
			}
		} else if got, err := b.once(isolation, begun{busy: true}); err == nil {
			t.Errorf("%s: %+v, want 40001: the snapshot can't see the marker that is there", isolation, got)
		} else if code, _ := sqlState(err); code != "40001" {
			t.Errorf("%s: %v, want 40001", isolation, err)
		}
		b.rollback()
		if got := b.mustOnce(isolation, begun{busy: true}, "replay"); got.result != "a's" {
			t.Errorf("%s: replayed %q", isolation, got.result)
		}
	}

	a.begin(readCommitted)
	a.mustOnce("rolled back", begun{}, "run")
	b.begin(readCommitted)
	b.mustOnce("rolled back", begun{busy: true}, "busy")
	a.rollback()
	b.mustOnce("rolled back", begun{busy: true}, "run")
	w := a.onceInBackground("rolled back", begun{}) // who waits, waits for a Busy caller that runs, too
	w.waitsFor(watch, b)
	b.rollback()
	w.returns("run")
}

// A Busy caller that runs has its lock for itself: the others wait for its transaction all the
// same, and replay.
func TestOnceBusyRuns(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 5)
	a, watch := s[0], s[4]
	for _, isolation := range []string{readCommitted, repeatableRead, serializable} {
		a.begin(isolation)
		run := a.mustOnce(isolation, begun{busy: true}, "run")
		var waiters []*waiting
		for _, b := range s[1:4] {
			b.begin(isolation)
			waiters = append(waiters, b.onceInBackground(isolation, begun{}))
		}
		for _, w := range waiters {
			w.waitsFor(watch, a)
		}
		a.mustEnd(isolation, run.token, "a's")
		a.commit()
		for _, w := range waiters {
			if isolation == readCommitted {
				if got := w.returns("replay"); got.result != "a's" {
					t.Errorf("replayed %q", got.result)
				}
			} else if code, _ := w.fails(); code != "40001" {
				t.Errorf("%s: %v, want 40001", isolation, w.err)
			}
		}
		for _, w := range waiters {
			w.rollback()
		}
	}
}

// pausedOnce makes Once stop between its first reading and its lock while stop holds the advisory
// lock 1, in this test's database alone. The moment is too short to be met otherwise.
func pausedOnce(stop *session) {
	stop.exec(`alter function queen.kv_once_lock_v1(uuid, text, text) rename to kv_once_lock_unpaused_v1`)
	stop.exec(`create function queen.kv_once_lock_v1(p_tenant uuid, p_ns text, p_key text) returns bigint
		language plpgsql as $$
		begin
			perform pg_advisory_lock_shared(1);
			perform pg_advisory_unlock_shared(1);
			return queen.kv_once_lock_unpaused_v1(p_tenant, p_ns, p_key);
		end $$`)
	stop.exec(`select pg_advisory_lock(1)`)
}

// The marker is finished between the first reading and the lock. A caller reads again, with or
// without the lock, so that nobody is told busy, or runs, beside a finished marker.
func TestOnceReadsAgain(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		for _, locked := range []bool{false, true} {
			t.Run(fmt.Sprintf("busy %v, locked by another %v", busy, locked), func(t *testing.T) {
				t.Parallel()
				const key = "key"
				s := sessions(t, testdb.New(t, nil), 5)
				a, b, other, stop, watch := s[0], s[1], s[2], s[3], s[4]
				a.begin(readCommitted)
				run := a.mustOnce(key, begun{}, "run")
				var w *waiting
				if locked { // by one who waited and replays, until its transaction ends
					other.begin(readCommitted)
					w = other.onceInBackground(key, begun{})
					w.waitsFor(watch, a)
				}
				pausedOnce(stop)
				b.begin(readCommitted)
				got := b.onceInBackground(key, begun{busy: busy})
				got.waitsFor(watch, stop)
				a.mustEnd(key, run.token, "a's")
				a.commit()
				if locked {
					w.returns("replay")
				}
				stop.exec(`select pg_advisory_unlock(1)`)
				if got.returns("replay").result != "a's" {
					t.Errorf("replayed %q", got.answer.result)
				}
				if b.count("select count(*) where pg_current_xact_id_if_assigned() is not null") != 0 {
					t.Error("a replay has taken a transaction id")
				}
			})
		}
	}
}

// Whatever the moment, a Busy caller beside one that commits is told busy or replays; and nobody
// is told busy when the commit has returned.
func TestOnceBusyBesideCommit(t *testing.T) {
	t.Parallel()
	const rounds = 200
	s := sessions(t, testdb.New(t, nil), 3)
	a, b := s[0], s[1]
	states := map[string]int{}
	for i := range rounds {
		key := fmt.Sprint("key", i)
		a.begin(readCommitted)
		a.mustEnd(key, a.mustOnce(key, begun{}, "run").token, "a's")
		var both sync.WaitGroup
		var got answer
		var err, errA error
		both.Go(func() { _, errA = a.Exec(t.Context(), "commit") })
		both.Go(func() { got, err = b.once(key, begun{busy: true}) })
		both.Wait()
		if err != nil || errA != nil {
			t.Fatal(err, errA)
		}
		states[got.state]++
		b.mustOnce(key, begun{busy: true}, "replay")
	}
	if states["busy"]+states["replay"] != rounds {
		t.Errorf("beside a commit: %v, want busy or replay", states)
	}
	t.Logf("beside a commit: %v", states)
}
