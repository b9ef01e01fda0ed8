package testdb

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	waitLimit = 15 * time.Second
	waitPoll  = 2 * time.Millisecond
)

// WaitForLock returns when the backend pid waits for a heavyweight lock, with the kind of the
// lock (pg_stat_activity.wait_event: transactionid, tuple, advisory, relation ...). It fails
// the test, and shows who does what, when that hasn't happened in fifteen seconds.
func WaitForLock(t testing.TB, db *DB, pid uint32) (event string) {
	t.Helper()
	event, _ = WaitForLockOr(t, db, pid, nil)
	return event
}

// WaitForLockOr is WaitForLock for a call that need not wait: closing done says that the call
// has returned, and then waits is false.
func WaitForLockOr(t testing.TB, db *DB, pid uint32, done <-chan struct{}) (event string, waits bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	poll := time.NewTicker(waitPoll)
	defer poll.Stop()
	for {
		err := db.admin.QueryRow(ctx, `select coalesce(max(wait_event), '') from pg_stat_activity
			where pid = $1 and wait_event_type = 'Lock'`, int64(pid)).Scan(&event)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			t.Fatalf("testdb: pg_stat_activity: %v", err)
		case event != "":
			return event, true
		}
		select {
		case <-done:
			return "", false
		case <-ctx.Done():
			t.Fatalf("in %[2]v backend %[1]d neither waited for a lock nor returned\n%[3]s", pid, waitLimit, db.activity(t))
		case <-poll.C:
		}
	}
}

// activity is what the database's sessions do, for a failure's message.
func (db *DB) activity(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupLimit)
	defer cancel()
	rows, err := db.admin.Query(ctx, `select format('pid %s %s, waits for %s %s, blocked by %s: %s',
			pid, state, wait_event_type, wait_event, pg_blocking_pids(pid), query)
		from pg_stat_activity where datname = $1 order by pid`, db.Name)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err.Error()
		}
		fmt.Fprintln(&b, line)
	}
	if err := rows.Err(); err != nil {
		return err.Error()
	}
	return b.String()
}
