// Package standby holds what docs/scaling.md and docs/sql.md say of reads on a hot standby, on a real one.
package standby

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/cluster"
	"github.com/queenkv/queenkv/tests/testdb"
)

var things = kvpg.NewNamespace("things")

// pair starts a primary with the schema, and a standby that follows it.
func pair(t *testing.T) (primary, standby *pgx.Conn) {
	t.Helper()
	first := testdb.Server(t, nil)
	second, err := first.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	})
	return connect(t, first), connect(t, second)
}

func connect(t *testing.T, c *cluster.Cluster) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// What a standby has replayed, and what it has received.
const replayed, received = `pg_last_wal_replay_lsn()`, `pg_last_wal_receive_lsn()`

// caughtUp waits until the standby has replayed, or received, what the primary has written so far.
func caughtUp(t *testing.T, primary, standby *pgx.Conn, what string) {
	t.Helper()
	var written string
	if err := primary.QueryRow(t.Context(), `select pg_current_wal_flush_lsn()`).Scan(&written); err != nil {
		t.Fatal(err)
	}
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.After(time.Minute); ; {
		var done bool
		if err := standby.QueryRow(t.Context(), `select `+what+` >= $1::pg_lsn`, written).Scan(&done); err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		select {
		case <-poll.C:
		case <-end:
			t.Fatalf("the standby has not caught up in a minute: %s is below %s", what, written)
		}
	}
}

func put(t *testing.T, conn *pgx.Conn, key string, value int) {
	t.Helper()
	if _, err := kvpg.Put(t.Context(), conn, things, key, value, kvpg.TTL(time.Hour), nil); err != nil {
		t.Fatal(err)
	}
}

func TestStandby(t *testing.T) {
	t.Parallel()
	primary, standby := pair(t)
	ctx := t.Context()
	put(t, primary, "a", 1)
	put(t, primary, "gone", 1)
	err := pgx.BeginFunc(ctx, primary, func(tx pgx.Tx) error {
		_, err := kvpg.Once(ctx, tx, things, "done", time.Hour, func(context.Context) ([]byte, error) { return []byte("booked"), nil }, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	caughtUp(t, primary, standby, replayed)

	t.Run("typed reads", func(t *testing.T) {
		if row, ok, err := kvpg.Get(ctx, standby, things, "a"); err != nil || !ok || string(row.Value) != "1" {
			t.Errorf("got %+v, %t, %v", row, ok, err)
		}
		if rows, err := kvpg.GetMany(ctx, standby, things, []string{"none", "a"}); err != nil || rows[0].Found || !rows[1].Found {
			t.Errorf("got %+v, %v", rows, err)
		}
	})
	t.Run("kv_apply_v1 with reads alone", func(t *testing.T) {
		results, err := kvpg.Apply(ctx, standby,
			kvpg.GetOp(things, "a"), kvpg.GetManyOp(things, []string{"a"}), kvpg.GetPrefixOp(things, "a", nil))
		if err != nil || len(results) != 3 {
			t.Errorf("got %+v, %v", results, err)
		}
	})
	t.Run("writes are refused", func(t *testing.T) {
		for name, op := range map[string]kvpg.Op{
			"put":         kvpg.PutOp(things, "a", 2, kvpg.Forever(), nil),
			"putIfAbsent": kvpg.PutIfAbsentOp(things, "b", 2, kvpg.Forever(), nil),
			"incr":        kvpg.IncrOp(things, "a", 1, kvpg.Forever(), nil),
			"touch":       kvpg.TouchOp(things, "a", kvpg.Forever(), nil),
			"delete":      kvpg.DeleteOp(things, "a", nil),
		} {
			_, err := kvpg.Apply(ctx, standby, op)
			wantCode(t, name, err)
		}
		for name, sql := range map[string]string{
			"Once of a new key": `select queen.kv_once_begin_v1('things', 'new', 1000)`,
			"a limiter":         `select queen.kv_limiter_v1('things', '{l}', null, 5, 1000)`,
			"a lease":           `select queen.kv_lease_acquire_v1('things', 'free', 'me', 1000)`,
		} {
			_, err := standby.Exec(ctx, sql)
			wantCode(t, name, err)
		}
	})
	// What has happened on the primary is seen when it is replayed, and not before; what expires, expires by the standby's own clock.
	t.Run("reads are as old as the replay", func(t *testing.T) {
		exec(t, standby, `select pg_wal_replay_pause()`)
		put(t, primary, "a", 3)
		put(t, primary, "new", 1)
		if v, err := kvpg.Delete(ctx, primary, things, "gone", nil); err != nil || !v.Applied {
			t.Fatalf("got %+v, %v", v, err)
		}
		caughtUp(t, primary, standby, received) // it has them, and does not show them
		old, ok, err := kvpg.Get(ctx, standby, things, "a")
		if err != nil || !ok || string(old.Value) != "1" {
			t.Errorf("a paused standby shows %+v, %t, %v; want the old value", old, ok, err)
		}
		if _, ok, err := kvpg.Get(ctx, standby, things, "new"); err != nil || ok {
			t.Errorf("a paused standby shows a row of later: %t, %v", ok, err)
		}
		if _, ok, err := kvpg.Get(ctx, standby, things, "gone"); err != nil || !ok {
			t.Errorf("a paused standby lacks a row that was deleted later: %t, %v", ok, err)
		}
		v, err := kvpg.Put(ctx, primary, things, "a", 4, kvpg.TTL(time.Hour), &kvpg.PutOptions{Expect: kvpg.ExpectVersion(old.Version)})
		if err != nil || v.Applied || v.Reason != kvpg.ReasonVersion {
			t.Errorf("a put on the primary that expects the standby's version: %+v, %v; want that it loses", v, err)
		}
		var alive bool
		err = standby.QueryRow(ctx, `select exists (
			select from queen.kv_get_v1('things', 'a', p_now => clock_timestamp() + interval '2 hours'))`).Scan(&alive)
		if err != nil || alive {
			t.Errorf("a row lives past its expiry: %t, %v", alive, err)
		}
		exec(t, standby, `select pg_wal_replay_resume()`)
		caughtUp(t, primary, standby, replayed)
		if row, ok, err := kvpg.Get(ctx, standby, things, "a"); err != nil || !ok || string(row.Value) != "3" {
			t.Errorf("after the replay it shows %+v, %t, %v", row, ok, err)
		}
	})
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// wantCode: PostgreSQL's code for a write where none may be, read_only_sql_transaction.
func wantCode(t *testing.T, what string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "25006" {
		t.Errorf("%s: got %v, want 25006", what, err)
	}
}
