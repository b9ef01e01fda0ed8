package races

import (
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// everyByte is a result that any conversion on its way would damage.
var everyByte = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

func TestOnceWaiterReplays(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	s := sessions(t, db, 3)
	a, b, watch := s[0], s[1], s[2]
	for name, isError := range map[string]bool{"a result": false, "an error": true} {
		a.begin(readCommitted)
		run := a.mustOnce(name, begun{}, "run")
		b.begin(readCommitted)
		w := b.onceInBackground(name, begun{})
		w.waitsFor(watch, a)
		if err := a.end(name, run.token, everyByte, isError); err != nil {
			t.Fatal(err)
		}
		w.waitsFor(watch, a) // the end is not the commit
		a.commit()
		if got := w.returns("replay"); got.result != everyByte || got.isError != isError {
			t.Errorf("%s: replayed %x, error %v", name, got.result, got.isError)
		}
		b.commit()
		// The next one finds it finished, and takes nothing.
		b.begin(readCommitted + " read only")
		if got := b.mustOnce(name, begun{}, "replay"); got.result != everyByte || got.isError != isError {
			t.Errorf("%s: replayed later %x, error %v", name, got.result, got.isError)
		}
		if n := b.count(`select count(*) from pg_locks where pid = pg_backend_pid()
			and (locktype = 'advisory' or locktype = 'transactionid' or mode like 'RowE%')`); n != 0 {
			t.Errorf("%s: a replay took %d locks", name, n)
		}
		b.commit()
	}
}

// What frees the key lets the one waiting run, at once and with a token of its own.
func TestOnceWaiterRunsAfter(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]func(a, watch *session){
		"a rollback":    func(a, _ *session) { a.rollback() },
		"a crash":       func(a, watch *session) { watch.exec("select pg_terminate_backend($1)", int32(a.PgConn().PID())) },
		"its savepoint": func(a, _ *session) { a.exec("rollback to savepoint attempt") },
		"a lost end": func(a, _ *session) {
			if err := a.end("key", 0, "", false); err == nil {
				a.t.Error("end with token 0 has not failed")
			}
			a.exec("rollback to savepoint attempt")
		},
	} {
		for _, isolation := range []string{readCommitted, repeatableRead, serializable} {
			t.Run(name+", "+isolation, func(t *testing.T) {
				t.Parallel()
				s := sessions(t, testdb.New(t, nil), 3)
				a, b, watch := s[0], s[1], s[2]
				a.begin(isolation)
				a.exec("savepoint attempt")
				first := a.mustOnce("key", begun{}, "run")
				b.begin(isolation)
				w := b.onceInBackground("key", begun{})
				w.waitsFor(watch, a)
				free(a, watch)
				if second := w.returns("run"); second.token == first.token {
					t.Error("both have one token")
				}
				b.mustEnd("key", w.answer.token, "b's")
				b.commit()
				if got := watch.mustOnce("key", begun{}, "replay"); got.result != "b's" {
					t.Errorf("replayed %q", got.result)
				}
			})
		}
	}
}

// Above READ COMMITTED a duplicate that waited gets 40001, and its retry replays.
func TestOnceWaiterAboveReadCommitted(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	s := sessions(t, db, 3)
	a, b, watch := s[0], s[1], s[2]
	for _, isolation := range []string{repeatableRead, serializable} {
		a.begin(isolation)
		run := a.mustOnce(isolation, begun{}, "run")
		b.begin(isolation)
		w := b.onceInBackground(isolation, begun{})
		w.waitsFor(watch, a)
		a.mustEnd(isolation, run.token, "a's")
		a.commit()
		if code, _ := w.fails(); code != "40001" {
			t.Errorf("%s: %s %v, want 40001", isolation, code, w.err)
		}
		b.rollback()
		b.begin(isolation)
		if got := b.mustOnce(isolation, begun{}, "replay"); got.result != "a's" {
			t.Errorf("%s: the retry replays %q", isolation, got.result)
		}
		b.commit()
	}
}

func TestOnceLockTimeout(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 2)
	a, b := s[0], s[1]
	a.begin(readCommitted)
	run := a.mustOnce("key", begun{}, "run")
	b.begin(readCommitted)
	b.exec("set local lock_timeout = '50ms'")
	if _, err := b.once("key", begun{}); err == nil {
		t.Error("it has not waited")
	} else if code, _ := sqlState(err); code != "55P03" {
		t.Errorf("%v, want 55P03", err)
	}
	b.rollback()
	a.mustEnd("key", run.token, "a's")
	a.commit()
}

// Six wait side by side for the one that runs, and for nobody else. They wake together: every
// replay is there while none of their transactions has ended.
func TestOnceWaitersWakeTogether(t *testing.T) {
	t.Parallel()
	const key, n = "key", 6
	s := sessions(t, testdb.New(t, nil), n+2)
	watch, a := s[n+1], s[n]
	a.begin(readCommitted)
	run := a.mustOnce(key, begun{}, "run")
	var waiters []*waiting
	for _, b := range s[:n] {
		b.begin(readCommitted)
		waiters = append(waiters, b.onceInBackground(key, begun{}))
	}
	for _, w := range waiters {
		w.waitsFor(watch, a)
		if others := watch.count(`select count(*) from unnest(pg_blocking_pids($1)) as pid where pid <> $2`,
			int32(w.PgConn().PID()), int32(a.PgConn().PID())); others > 0 {
			t.Errorf("a waiter waits for %d others than the one that runs", others)
		}
	}
	a.mustEnd(key, run.token, everyByte)
	a.commit()
	for _, w := range waiters {
		if w.returns("replay").result != everyByte {
			t.Error("replayed something else")
		}
	}
	for _, w := range waiters {
		w.commit()
	}
}

// When the one that runs rolls back, one of the six runs and the others wait for that one.
func TestOnceWaitersAfterRollback(t *testing.T) {
	t.Parallel()
	const key, n = "key", 6
	s := sessions(t, testdb.New(t, nil), n+2)
	watch, first := s[n+1], s[n]
	first.begin(readCommitted)
	first.mustOnce(key, begun{}, "run")
	waiters := map[*waiting]bool{}
	ran := make(chan *waiting, n)
	for _, b := range s[:n] {
		b.begin(readCommitted)
		w := b.onceInBackground(key, begun{})
		waiters[w] = true
		go func() { <-w.done; ran <- w }()
	}
	for w := range waiters {
		w.waitsFor(watch, first)
	}
	first.rollback()
	second := <-ran
	second.returns("run")
	delete(waiters, second)
	for w := range waiters {
		w.waitsFor(watch, second.session)
	}
	second.mustEnd(key, second.answer.token, "the second's")
	second.commit()
	for w := range waiters {
		if got := w.returns("replay"); got.result != "the second's" {
			t.Errorf("replayed %q", got.result)
		}
	}
}
