package deadlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

const sessions = 16

// TestNoDeadlock: sixteen sessions make calls of several keys in random order, on the same 24 keys. A third of them puts alone,
// which go the way of sets, a third any ops, a third now this and now that; every fourth session is above READ COMMITTED,
// where 40001 is an answer, and the call is made again. KV_PROOF_DEADLOCK_CALLS is the number of calls.
func TestNoDeadlock(t *testing.T) {
	calls := proof.Size(t, "KV_PROOF_DEADLOCK_CALLS", 4000)
	db := testdb.New(t, nil)
	l := load{conns: connect(t, db)}
	if err := l.run(t.Context(), calls); err != nil {
		t.Fatal(err)
	}
	proof.Report(t, fmt.Sprintf("deadlocks: %d calls of 2 to %d ops from %d sessions on %d keys, none in a deadlock, all answers in input order; "+
		"%d retries after 40001 above read committed", calls, mostOps+1, sessions, len(namespaces)*len(keys), l.retries.Load()))
	if l.retries.Load() == 0 {
		t.Error("no two transactions met")
	}
}

// TestBites: when calls run their ops in the order of the input there are deadlocks soon, on either path, and answers in the
// order in which the ops ran are noticed.
func TestBites(t *testing.T) {
	for _, b := range []struct {
		name     string
		call     func() []op
		function string
		changes  map[string]string
		deadlock bool
	}{
		{
			name: "any ops by index", call: mixed, deadlock: true, function: "kv_plan_v1",
			changes: map[string]string{"array_agg(c.index order by c.ns, c.key, c.index)": "array_agg(c.index order by c.index)"},
		},
		{
			name: "puts by index", call: puts, deadlock: true, function: "kv_put_batch_v1",
			changes: map[string]string{"order by op.ns, op.key": "order by op.index"},
		},
		{
			name: "answers by key", call: puts, function: "kv_put_batch_v1",
			changes: map[string]string{"op.expires_at) order by op.index)": "op.expires_at) order by op.ns, op.key)"},
		},
	} {
		t.Run(b.name, func(t *testing.T) {
			db := testdb.New(t, nil)
			rewrite(t, db, b.function, b.changes)
			l := load{conns: connect(t, db), call: b.call}
			err := l.run(t.Context(), 20_000)
			if b.deadlock && state(err) != "40P01" || !b.deadlock && !errors.Is(err, errOrder) {
				t.Errorf("after %d calls: %v", l.calls.Load(), err)
			}
			t.Logf("after %d calls: %v", l.calls.Load(), err)
		})
	}
}

// rewrite changes a function, which must hold each of the texts once.
func rewrite(t *testing.T, db *testdb.DB, function string, changes map[string]string) {
	t.Helper()
	var source string
	err := db.Conn(t).QueryRow(t.Context(), `select pg_get_functiondef(p.oid) from pg_proc as p
		where p.pronamespace = 'queen'::regnamespace and p.proname = $1`, function).Scan(&source)
	if err != nil {
		t.Fatal(err)
	}
	for old, replacement := range changes {
		if n := strings.Count(source, old); n != 1 {
			t.Fatalf("%s holds %q %d times: the breakage must follow the function\n%s", function, old, n, source)
		}
		source = strings.Replace(source, old, replacement, 1)
	}
	db.Exec(t, source)
}

func connect(t *testing.T, db *testdb.DB) (conns []*pgx.Conn) {
	t.Helper()
	for i := range sessions {
		conns = append(conns, db.Conn(t, func(cfg *pgx.ConnConfig) {
			cfg.RuntimeParams["statement_timeout"] = "60s" // a test that hangs is told from one that is slow
			if i%4 == 3 {
				cfg.RuntimeParams["default_transaction_isolation"] = []string{"repeatable read", "serializable"}[i/4%2]
			}
		}))
	}
	return conns
}

// A load is what the sessions do at once. Without call each of three sessions makes its own kind.
type load struct {
	conns          []*pgx.Conn
	call           func() []op
	calls, retries atomic.Int64
}

// run makes n calls, and ends early with the first error but 40001.
func (l *load) run(ctx context.Context, n int) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var running sync.WaitGroup
	for i, conn := range l.conns {
		running.Go(func() {
			for ctx.Err() == nil && l.calls.Add(1) <= int64(n) {
				if err := l.one(ctx, conn, l.kind(i)()); err != nil {
					fail(fmt.Errorf("session %d: %w", i, err))
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

func (l *load) one(ctx context.Context, conn *pgx.Conn, ops []op) error {
	for {
		err := apply(ctx, conn, ops)
		if state(err) != "40001" {
			return err
		}
		l.retries.Add(1)
	}
}

func (l *load) kind(session int) func() []op {
	switch n := l.calls.Load(); {
	case l.call != nil:
		return l.call
	case session%3 == 0, session%3 == 1 && n%2 == 0:
		return puts
	}
	return mixed
}

// state is an error's SQLSTATE, empty when it isn't the server's.
func state(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
