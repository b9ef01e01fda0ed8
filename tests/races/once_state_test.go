package races

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// The same key again in one transaction, whatever the savepoint it was begun in.
func TestOnceReentry(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 3)
	a, b, watch := s[0], s[1], s[2]
	for _, isolation := range []string{readCommitted, repeatableRead, serializable} {
		a.begin(isolation)
		a.mustOnce(isolation, begun{}, "run")
		a.mustOnce(isolation, begun{}, "reentry")
		a.mustOnce(isolation, begun{busy: true}, "reentry")
		a.mustOnce(isolation, begun{fingerprint: "another"}, "reentry") // judged before the fingerprint
		a.exec("savepoint one")
		a.mustOnce(isolation, begun{}, "reentry")
		a.exec("release savepoint one")
		a.mustOnce(isolation, begun{}, "reentry")
		a.rollback()

		a.begin(isolation)
		a.exec("savepoint one")
		first := a.mustOnce(isolation, begun{}, "run")
		a.exec("release savepoint one")
		a.mustOnce(isolation, begun{}, "reentry")
		a.mustEnd(isolation, first.token, "the first")
		a.mustOnce(isolation, begun{}, "replay") // in its own transaction too
		a.rollback()

		a.begin(isolation)
		a.exec("savepoint one")
		first = a.mustOnce(isolation, begun{}, "run")
		a.exec("rollback to savepoint one")
		second := a.mustOnce(isolation, begun{}, "run")
		if first.token == second.token {
			t.Errorf("%s: a token was given twice", isolation)
		}
		a.mustEnd(isolation, second.token, "the second")
		a.commit()
		if got := b.mustOnce(isolation, begun{}, "replay"); got.result != "the second" {
			t.Errorf("%s: replayed %q", isolation, got.result)
		}
	}

	// A savepoint that is rolled back frees the key at once: another runs, and the first waits.
	a.begin(readCommitted)
	a.exec("savepoint one")
	a.mustOnce("freed", begun{}, "run")
	a.exec("rollback to savepoint one")
	b.begin(readCommitted)
	run := b.mustOnce("freed", begun{}, "run")
	a.mustOnce("freed", begun{busy: true}, "busy")
	w := a.onceInBackground("freed", begun{})
	w.waitsFor(watch, b)
	b.mustEnd("freed", run.token, "b's")
	b.commit()
	w.returns("replay")
}

// Somebody committed between begin and end: nobody runs it again, until the key is deleted.
func TestOnceUnfinished(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 3)
	a, b, watch := s[0], s[1], s[2]
	a.begin(readCommitted)
	run := a.mustOnce("key", begun{}, "run")
	b.begin(readCommitted)
	w := b.onceInBackground("key", begun{})
	w.waitsFor(watch, a)
	a.commit()
	w.returns("unfinished")
	b.commit()
	for _, again := range []begun{{}, {busy: true}, {fingerprint: "another"}} {
		a.mustOnce("key", again, "unfinished") // in the session that began it, too
	}
	a.begin(readCommitted)
	if code, message := sqlState(a.end("key", run.token, "late", false)); code != "55000" || message != "kv_once_lost" {
		t.Errorf("an end in another transaction than begin: %s %s, want 55000 kv_once_lost", code, message)
	}
	a.rollback()
	a.mustApply(`[{"op": "delete", "ns": "races", "key": "key"}]`)
	a.begin(readCommitted)
	a.mustOnce("key", begun{}, "run")
	a.rollback()
}

func TestOnceForeignAndMismatch(t *testing.T) {
	t.Parallel()
	a := sessions(t, testdb.New(t, nil), 1)[0]
	for key, value := range map[string]string{
		"number": "5", "string": `"done"`, "null": "null", "object": `{"a": 1}`, "like": `{"once": 1}`, "array": `[1]`,
	} {
		a.mustApply(`[{"op": "put", "ns": "races", "key": "` + key + `", "value": ` + value + `, "forever": true}]`)
		a.mustOnce(key, begun{}, "foreign")
		a.mustOnce(key, begun{busy: true, fingerprint: "f"}, "foreign")
	}
	for key, c := range map[string]struct{ first, same, another string }{
		"given": {"f", "f", "g"}, "given, then not": {"f", "f", ""}, "not given": {"", "", "f"},
	} {
		a.begin(readCommitted)
		a.mustEnd(key, a.mustOnce(key, begun{fingerprint: c.first}, "run").token, "the answer")
		a.commit()
		if got := a.mustOnce(key, begun{fingerprint: c.another}, "mismatch"); got.result != "" {
			t.Errorf("%s: a mismatch shows %q", key, got.result)
		}
		a.mustOnce(key, begun{fingerprint: c.same}, "replay")
	}
}

// Of a fingerprint only its SHA-256 is stored, before the end and after it.
func TestOnceFingerprintIsHashed(t *testing.T) {
	t.Parallel()
	a := sessions(t, testdb.New(t, nil), 1)[0]
	want := fmt.Sprintf("%x", sha256.Sum256([]byte("a card's number")))
	check := func() {
		t.Helper()
		var got string
		err := a.QueryRow(t.Context(), "select value ->> 'fingerprint' from queen.kv where key = 'key'").Scan(&got)
		if err != nil || got != want {
			t.Errorf("stored is %q, %v, want %s", got, err, want)
		}
	}
	a.begin(readCommitted)
	run := a.mustOnce("key", begun{fingerprint: "a card's number"}, "run")
	check()
	a.mustEnd("key", run.token, "done")
	check()
	a.commit()
}

// end finds the marker that begin made in this transaction, or raises: what is left can't be
// committed.
func TestOnceLost(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 2)
	a, watch := s[0], s[1]
	put := `[{"op": "put", "ns": "races", "key": "key", "value": 1, "forever": true}]`
	remove := `[{"op": "delete", "ns": "races", "key": "key"}]`
	for name, overwrite := range map[string]func(token int64) (ends int64){
		"put":    func(token int64) int64 { a.mustApply(put); return token },
		"delete": func(token int64) int64 { a.mustApply(remove); return token },
		"deleted and begun again": func(token int64) int64 {
			a.mustApply(remove)
			a.mustOnce("key", begun{}, "run")
			return token
		},
		"ended already": func(token int64) int64 { a.mustEnd("key", token, "first"); return token },
		"the savepoint": func(token int64) int64 { a.exec("rollback to savepoint s"); return token },
		"token 0":       func(int64) int64 { return 0 },
		"a wrong token": func(token int64) int64 { return token + 1 },
	} {
		a.begin(readCommitted)
		a.mustApply(`[{"op": "put", "ns": "races", "key": "effect", "value": 1, "forever": true}]`)
		a.exec("savepoint s")
		token := overwrite(a.mustOnce("key", begun{}, "run").token)
		if code, message := sqlState(a.end("key", token, "lost", false)); code != "55000" || message != "kv_once_lost" {
			t.Errorf("%s: %s %s, want 55000 kv_once_lost", name, code, message)
		}
		a.exec("commit") // of an aborted transaction: a rollback
		if watch.count("select count(*) from queen.kv") != 0 {
			t.Errorf("%s: something was committed", name)
		}
	}
}

// A sweeper beside a begin that runs over an expired row: it skips the row, and waits for nobody.
func TestOnceBesideSweeper(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 2)
	a, sweeper := s[0], s[1]
	a.exec(`insert into queen.kv (namespace, key, value, expires_at) values ('races', 'key', '1', clock_timestamp() - interval '1 hour')`)
	a.begin(readCommitted)
	run := a.mustOnce("key", begun{}, "run")
	sweeper.exec("set lock_timeout = '10s'")
	sweep := `with gone as (delete from queen.kv where ctid = any (array(
		select ctid from queen.kv where expires_at <= clock_timestamp() for update skip locked)) returning 1) select count(*) from gone`
	if n := sweeper.count(sweep); n != 0 {
		t.Errorf("the sweeper took %d rows from under a begin", n)
	}
	a.mustEnd("key", run.token, "a's")
	a.commit()
	if n := sweeper.count(sweep); n != 0 {
		t.Errorf("the sweeper took %d live markers", n)
	}
	sweeper.mustOnce("key", begun{}, "replay")
}
