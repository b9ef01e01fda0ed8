package install_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/testdb"
)

// What has storage, under the same numbers as before: nothing was made anew or rewritten.
const storage = `select string_agg(format('%s %s %s', oid::regclass, oid, relfilenode), E'\n' order by oid)
	from pg_class where relnamespace = 'queen'::regnamespace and oid is distinct from to_regclass('queen.schema_version')`

func TestAgainChangesNothing(t *testing.T) {
	t.Parallel()
	for _, first := range ways {
		for _, second := range ways {
			t.Run(first.name+"-then-"+second.name, func(t *testing.T) {
				t.Parallel()
				_, conn := empty(t)
				must(t, first.run(t.Context(), conn))
				before, stored := list(t, conn), value[string](t, conn, storage)
				must(t, second.run(t.Context(), conn))
				same(t, "the second run changed the schema", before, list(t, conn))
				same(t, "the second run made storage anew", stored, value[string](t, conn, storage))
			})
		}
	}
}

func TestTwentyAtOnce(t *testing.T) {
	t.Parallel()
	all := map[string][]way{
		"install": {install}, "migrate": {migrate}, "dist": {dist}, "mixed": {install, migrate, dist},
	}
	want := list(t, testdb.New(t, nil).Conn(t))
	for name, mix := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const processes = 20
			db, conn := empty(t)
			conns := make([]*pgx.Conn, processes)
			for i := range conns {
				conns[i] = db.Conn(t)
			}
			start := make(chan struct{})
			var done sync.WaitGroup
			for i, c := range conns {
				w := mix[i%len(mix)]
				done.Go(func() {
					<-start
					if err := w.run(t.Context(), c); err != nil {
						t.Errorf("process %d, %s: %v", i, w.name, err)
					}
				})
			}
			close(start)
			done.Wait()
			same(t, "not the schema that one makes", want, list(t, conn))
			if mix[0].name == "migrate" {
				if n := value[int](t, conn, "select count(*) from "+queenkv.VersionTable); n != 1 {
					t.Errorf("the version table has %d rows, want 1", n)
				}
			}
		})
	}
}

// An installer that gives up must not keep the lock that all installers wait for.
func TestCancelledInstallerFreesTheLock(t *testing.T) {
	t.Parallel()
	for _, w := range []way{install, migrate} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			db, holder := empty(t)
			_, err := holder.Exec(t.Context(), "select pg_advisory_lock(9628173550095224)")
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			waiter := db.Conn(t)
			result := make(chan error, 1)
			go func() { result <- w.run(ctx, waiter) }()
			if event := testdb.WaitForLock(t, db, waiter.PgConn().PID()); event != "advisory" {
				t.Errorf("it waits for %s, want advisory", event)
			}
			cancel()
			if err := <-result; err == nil {
				t.Error("a cancelled installer says it succeeded")
			}
			if !waiter.IsClosed() {
				t.Error("its connection is open, and may hold or get the lock")
			}
			_, err = holder.Exec(t.Context(), "select pg_advisory_unlock(9628173550095224)")
			must(t, err)
			must(t, w.run(t.Context(), db.Conn(t)))
		})
	}
}

// cancelAfter ends a context when a connection's first statement has been answered: between
// two statements pgx leaves the connection, and with it the lock, alone.
type cancelAfter struct{ cancel context.CancelFunc }

func (cancelAfter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (c cancelAfter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) { c.cancel() }

func TestCancelledBetweenStatementsFreesTheLock(t *testing.T) {
	t.Parallel()
	for _, w := range []way{install, migrate} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			db, other := empty(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			conn := db.Conn(t, func(c *pgx.ConnConfig) { c.Tracer = cancelAfter{cancel} })
			if err := w.run(ctx, conn); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
			if !conn.IsClosed() {
				t.Error("its connection is open, and holds the lock")
			}
			if value[bool](t, other, "select to_regclass('queen.kv') is not null") {
				t.Error("it installed all the same")
			}
		})
	}
}

// The lock is a session's: a later use of the connection must not find it held.
func TestNoLockIsLeft(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		_, conn := empty(t)
		must(t, w.run(t.Context(), conn))
		held := value[int](t, conn, "select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'")
		if held != 0 {
			t.Errorf("%d advisory locks are held after the install", held)
		}
	})
}
