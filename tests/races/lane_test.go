package races

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

const (
	waitLimit    = 20 * time.Second // for anything that must happen
	longestPause = 20 * time.Millisecond
)

// A lane plays one cell after the other.
type lane struct {
	a, b, watch *pgx.Conn
}

func newLane(t *testing.T, db *testdb.DB) *lane {
	l := &lane{a: db.Conn(t), b: db.Conn(t), watch: db.Conn(t)}
	for _, conn := range []*pgx.Conn{l.a, l.b} {
		// lastval() has a value, so that a version that was drawn shows.
		if _, err := conn.Exec(t.Context(), "select nextval('queen.kv_version_seq')"); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// A got is what a cell came to.
type got struct {
	verdict verdict
	row     row
	waited  bool
	took    []string // what B has taken, of what a loser must not take
	twice   int      // keys of which B's transaction sees two rows
}

// rollback ends a transaction that an error has left open.
func rollback(conn *pgx.Conn) {
	if conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback") // the error that left it open is what the test tells
}

// waits tells whether B waits for A: until it does, or has returned, one of which must happen.
func (l *lane) waits(ctx context.Context, done <-chan struct{}) (bool, error) {
	return blockedBy(ctx, l.watch, l.b.PgConn().PID(), l.a.PgConn().PID(), done)
}

// blockedBy polls pg_stat_activity until backend waiter waits for a lock that backend holder
// has, or done is closed, which says that it has returned while holder still had its locks.
func blockedBy(ctx context.Context, watch *pgx.Conn, waiter, holder uint32, done <-chan struct{}) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		select {
		case <-done:
			return false, nil
		case <-ctx.Done():
			return false, fmt.Errorf("backend %d neither waits for %d nor returns: %w", waiter, holder, ctx.Err())
		case <-time.After(pause):
		}
		var waits bool
		err := watch.QueryRow(ctx, `select exists (select from pg_stat_activity
			where pid = $1 and wait_event_type = 'Lock' and $2 = any (pg_blocking_pids(pid)))`,
			int32(waiter), int32(holder)).Scan(&waits)
		if err != nil || waits {
			return waits, err
		}
	}
}
