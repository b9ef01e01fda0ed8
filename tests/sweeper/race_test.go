package sweeper

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A row that somebody holds is left without waiting; the step says done, since nothing else is left, and that one row is. It goes
// once it is free.
func TestLockedRowIsLeft(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	conn, other := db.Conn(t), db.Conn(t)
	insert(t, conn, 1, 1000, "timestamptz '2030-01-01 10:00:00+00' + i * interval '1 second'")
	exec(t, other, "begin; select from queen.kv where key = 'key600' for key share")
	exec(t, conn, "set lock_timeout = 1") // a wait would be an error
	s := expire(t, conn, 5000, nil)
	if s.Deleted != 999 || !s.Done || s.Unpruned != 1 || s.UnprunedCapped || s.LagMs != 2*3600*1000-600*1000 {
		t.Errorf("%v, want 999 deleted, done, and the one that is held left", s)
	}
	if s := expire(t, conn, 5000, nil); s.Deleted != 0 || !s.Done || s.Unpruned != 1 {
		t.Errorf("%v, want the one that is held left", s)
	}
	exec(t, other, "commit")
	if s := expire(t, conn, 5000, nil); s.Deleted != 1 || !s.Done || s.Unpruned != 0 {
		t.Errorf("%v, want it deleted", s)
	}
}

// Rows that somebody holds at the head, more than a step may delete, and all of one microsecond too, keep nobody from the others.
func TestManyLockedRows(t *testing.T) {
	t.Parallel()
	for name, expiry := range map[string]string{
		"one after the other": "timestamptz '2030-01-01 10:00:00+00' + i * interval '1 second'",
		"of one microsecond":  "timestamptz '2030-01-01 10:00:00+00' + (i > 3000)::int * interval '1 second'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, nil)
			conn, other := db.Conn(t), db.Conn(t)
			insert(t, conn, 1, 4000, expiry)
			exec(t, other, "begin; select from queen.kv where value::int <= 3000 for update")
			exec(t, conn, "set lock_timeout = 1")
			if n := deleted(pass(t, conn, 100)); n != 1000 {
				t.Errorf("a pass deleted %d, want the 1000 that nobody holds", n)
			}
			exec(t, other, "rollback")
			if n := deleted(pass(t, conn, 100)); n != 3000 {
				t.Errorf("a pass deleted %d after that, want 3000", n)
			}
		})
	}
}

// A row that is renewed after a step's statement began and before it is locked survives: what is locked is looked at again in its
// newest form. A policy, which is asked for every row that is read, holds the statement up at its first row (the shard of that
// row is the first one), where it has its snapshot already.
func TestRenewedInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, renew := range map[string]string{
		"touched":     `update queen.kv set expires_at = '2030-01-01 13:00:00+00' where key = 'key90'`, // a touch that began before it expired
		"put":         `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "key90", "value": 90, "forever": true}]')`,
		"incremented": `select queen.kv_apply_v1('[{"op": "incr", "ns": "n", "key": "key90", "delta": 90, "ttlMs": 5}]', p_now => '2030-01-01 12:00:00Z')`,
		"once":        `select queen.kv_once_begin_v1('n', 'key90', 1000, p_now => '2030-01-01 12:00:00Z')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, nil)
			owner, role := db.Conn(t), db.Role(t)
			insert(t, owner, 1, 100, "timestamptz '2030-01-01 10:00:00+00' + i * interval '1 second'")
			exec(t, owner, "select queen.kv_grant_v1($1::text::regrole, 'sweeper')", role)
			exec(t, owner, `create function public.gate(p_at timestamptz) returns boolean language plpgsql as $$ begin
				if p_at = '2030-01-01 10:00:01+00' then perform pg_advisory_xact_lock_shared(1); end if; return true; end $$`)
			exec(t, owner, "alter table queen.kv enable row level security; create policy gate on queen.kv using (public.gate(expires_at))")
			exec(t, owner, "select pg_advisory_lock(1)")

			sweeper := db.ConnAs(t, role)
			done := make(chan error, 1)
			var gone int
			go func() {
				done <- sweeper.QueryRow(context.WithoutCancel(t.Context()), `select queen.kv_expire_delete_v1((queen.kv_expire_hold_v1(
					(select array_agg(s::smallint order by s <> hashtextextended('key1', 0) & 63) from generate_series(0, 63) as s), '-infinity', 'infinity', $1::text::timestamptz, 1000, 1000)).lie, $1::text::timestamptz)`, noon).Scan(&gone)
			}()
			testdb.WaitForLock(t, db, sweeper.PgConn().PID())
			exec(t, owner, renew)
			exec(t, owner, "select pg_advisory_unlock(1)")
			must(t, <-done)
			if gone != 99 {
				t.Errorf("%d were deleted, want 99", gone)
			}
			if got := value[string](t, owner, "select coalesce(string_agg(key, ' '), '') from queen.kv"); got != "key90" {
				t.Errorf("%q are left, want key90, which was renewed", got)
			}
		})
	}
}

// Above READ COMMITTED the snapshot can't be left: a row that was renewed after it is 40001, and the row survives.
func TestRepeatableRead(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		db := testdb.New(t, nil)
		conn, other := db.Conn(t), db.Conn(t)
		insert(t, conn, 1, 10, "timestamptz '2030-01-01 10:00:00+00'")
		exec(t, conn, "begin isolation level "+level)
		exec(t, conn, "select from queen.kv")
		exec(t, other, `update queen.kv set expires_at = null where key = 'key5'`)
		_, err := tryExpire(t.Context(), conn, 100, nil)
		if got := sqlState(err); !strings.HasPrefix(got, "40001") {
			t.Errorf("%s: %s, want 40001", level, got)
		}
		exec(t, conn, "rollback")
		if s := expire(t, conn, 100, nil); s.Deleted != 9 {
			t.Errorf("%s: %v after that, want 9 deleted", level, s)
		}
	}
}

// While one sweeper has not committed another takes what it has left, and waits for nothing.
func TestTwoSweepersShare(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	one, two := db.Conn(t), db.Conn(t)
	insert(t, one, 1, 3000, "timestamptz '2030-01-01 10:00:00+00' + i * interval '1 second'")
	exec(t, two, "set lock_timeout = 1")
	exec(t, one, "begin")
	first := expire(t, one, 1000, nil)
	second := expire(t, two, 1000, nil)
	if first.Deleted < 500 || second.Deleted < 500 {
		t.Errorf("%v beside %v, want each to have half of its batch at least", first, second)
	}
	exec(t, one, "commit")
	if n := rows(t, one); n != 3000-first.Deleted-second.Deleted {
		t.Errorf("%d of 3000 rows are left after %d and %d were deleted", n, first.Deleted, second.Deleted)
	}
}

// Four sweepers at once delete each row once, and fail never.
func TestSweepersTogether(t *testing.T) {
	t.Parallel()
	const n, sweepers = 20000, 4
	db := testdb.New(t, nil)
	conn := db.Conn(t)
	insert(t, conn, 1, n, "timestamptz '2030-01-01 10:00:00+00' + (i % 3000) * interval '1 second'")
	insert(t, conn, n+1, n+100, "null")
	var group sync.WaitGroup
	total := make([]int, sweepers)
	for i := range sweepers {
		c := db.Conn(t)
		exec(t, c, "set lock_timeout = '1s'; set deadlock_timeout = '10ms'") // no wait here is as long
		group.Go(func() {
			for from, again := (*string)(nil), true; again; {
				s, err := tryExpire(t.Context(), c, 300, from)
				if err != nil {
					t.Errorf("sweeper %d: %v", i, err)
					return
				}
				total[i] += s.Deleted
				again, from = !s.Done, s.NextFrom
			}
		})
	}
	group.Wait()
	sum := 0
	for i, k := range total {
		sum += k
		if k == 0 {
			t.Errorf("sweeper %d has had nothing to do", i)
		}
	}
	if sum != n || rows(t, conn) != 100 {
		t.Errorf("%d rows deleted of %d, and %d left, want the 100 for ever", sum, n, rows(t, conn))
	}
	t.Logf("deleted by each: %v", total)
}

// Each write on a key whose row is being swept answers what it answers for a key that isn't there, whether the sweep commits or
// not; a read doesn't wait.
func TestWriteOfARowBeingSwept(t *testing.T) {
	t.Parallel()
	const k = `"ns": "n", "key": "key1"`
	calls := map[string]struct{ call, want string }{
		"put":           {`queen.kv_apply_v1('[{"op": "put", ` + k + `, "value": 7, "forever": true}]')`, `true 7`},
		"put, expect 0": {`queen.kv_apply_v1('[{"op": "put", ` + k + `, "value": 7, "forever": true, "expect": 0}]')`, `true 7`},
		"put, expect 5": {`queen.kv_apply_v1('[{"op": "put", ` + k + `, "value": 7, "forever": true, "expect": 5}]')`, `false null absent`},
		"puts": {`queen.kv_apply_v1('[{"op": "put", ` + k + `, "value": 7, "forever": true},
			{"op": "put", "ns": "n", "key": "z", "value": 7, "forever": true}]')`, `true 7`},
		"putIfAbsent":      {`queen.kv_apply_v1('[{"op": "putIfAbsent", ` + k + `, "value": 7, "forever": true}]')`, `true 7`},
		"incr":             {`queen.kv_apply_v1('[{"op": "incr", ` + k + `, "delta": 7, "forever": true}]')`, `true 7`},
		"touch":            {`queen.kv_apply_v1('[{"op": "touch", ` + k + `, "forever": true}]')`, `false null absent`},
		"delete":           {`queen.kv_apply_v1('[{"op": "delete", ` + k + `}]')`, `false null absent`},
		"delete, expect 0": {`queen.kv_apply_v1('[{"op": "delete", ` + k + `, "expect": 0}]')`, `true null`},
		"get":              {`queen.kv_apply_v1('[{"op": "get", ` + k + `}]')`, `false`},
		"once":             {`jsonb_build_array(jsonb_build_object('applied', (queen.kv_once_begin_v1('n', 'key1', 1000)).state = 'run', 'value', 7))`, `true 7`},
	}
	for name, c := range calls {
		for _, end := range []string{"commit", "rollback"} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				db := testdb.New(t, nil)
				sweeper, writer := db.Conn(t), db.Conn(t)
				insert(t, sweeper, 1, 3, "timestamptz '2020-01-01 10:00:00+00'")
				exec(t, sweeper, "begin")
				if s := expire(t, sweeper, 10, nil); s.Deleted != 3 {
					t.Fatal(s)
				}
				returned := make(chan struct{})
				var got string
				var err error
				go func() {
					defer close(returned)
					err = writer.QueryRow(context.WithoutCancel(t.Context()), `select concat_ws(' ', coalesce(a -> 'applied', a -> 'found')::text, (a -> 'value')::text, a ->> 'reason')
						from (select `+c.call+` -> 0 as a) as a`).Scan(&got)
				}()
				if _, waits := testdb.WaitForLockOr(t, db, writer.PgConn().PID(), returned); waits && name == "get" {
					t.Error("a read waits for the sweeper")
				}
				exec(t, sweeper, end)
				<-returned
				if fmt.Sprint(got, err) != c.want+"<nil>" {
					t.Errorf("%q, %v, want %s", got, err, c.want)
				}
			})
		}
	}
}
