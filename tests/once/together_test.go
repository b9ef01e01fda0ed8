package once

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// duplicates is the number that the project promises something of.
const duplicates = 50

// TestFiftyDuplicates: fifty wait for one, and for it alone; they wake together, and replay side by side: all have their
// answer while none has ended its transaction, each with the key's lock in share mode.
func TestFiftyDuplicates(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	pool := db.Pool(t, func(c *pgxpool.Config) { c.MaxConns = duplicates + 3 })
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	first := begin(t, over(pool))
	firstPID := pid(t, first)
	var waiting []*call
	r := mustRun(t, first, func(ctx context.Context) ([]byte, error) {
		for range duplicates {
			waiting = append(waiting, background(t, db, over(pool), func(kvpg.Tx) func(context.Context) ([]byte, error) { return never(t) }))
		}
		_, err := write(first, "first")(ctx)
		return all, err
	}, nil)
	if r.Replayed || !bytes.Equal(r.Result, all) {
		t.Errorf("the first got %+v", r)
	}
	for _, c := range waiting {
		if blocking := ask[string](t, pool, `select pg_blocking_pids($1)::text`, int64(c.pid)); blocking != fmt.Sprintf("{%d}", firstPID) {
			t.Errorf("a duplicate waits for %s, want the first alone, %d", blocking, firstPID)
		}
	}
	const asleep = `select count(*) from pg_locks where not granted and locktype = 'transactionid' and pid in (
		select pid from pg_stat_activity where datname = current_database())`
	if n := ask[int64](t, pool, asleep); n != duplicates {
		t.Errorf("%d sessions wait for a transaction's end, want %d", n, duplicates)
	}
	sharing := func() int64 {
		return ask[int64](t, pool, `select count(*) from pg_locks where granted and locktype = 'advisory' and mode = 'ShareLock'
			and database = (select oid from pg_database where datname = current_database())`)
	}
	if n := sharing(); n != duplicates+1 {
		t.Errorf("%d sessions share the key's lock, want the first and %d others", n, duplicates)
	}

	commit(t, first)
	for i, c := range waiting {
		c.returned(t)
		if c.err != nil || !c.result.Replayed || !bytes.Equal(c.result.Result, all) {
			t.Errorf("duplicate %d got %+v, %v", i, c.result, c.err)
		}
	}
	if n := sharing(); n != duplicates {
		t.Errorf("%d sessions share the key's lock when all have replayed, want %d", n, duplicates)
	}
	for _, c := range waiting {
		commit(t, c.tx)
	}
	if got := effects(t, db); got != "first" {
		t.Errorf("effects: %q", got)
	}
}

// TestFirstIsTerminated: the backend of the first is terminated; one that waited runs at once, the others wait for it now, and
// replay what it returned. The transactions are those of OnceTx.
func TestFirstIsTerminated(t *testing.T) {
	t.Parallel()
	const n = 8
	db := newDatabase(t)
	pool := db.Pool(t, func(c *pgxpool.Config) { c.MaxConns = n + 3 })
	first := begin(t, over(db.Conn(t)))
	mustRun(t, first, write(first, "first"), nil)

	type answer struct {
		result kvpg.OnceResult
		err    error
	}
	began, ran, proceed := make(chan uint32, n), make(chan uint32, n), make(chan struct{})
	answers := make(chan answer, n)
	start := kvpg.BeginFunc[kvpg.Tx](func(ctx context.Context) (kvpg.Tx, error) {
		tx, err := pool.Begin(ctx)
		if err == nil {
			began <- tx.Conn().PgConn().PID()
		}
		return tx, err
	})
	for range n {
		go func() {
			r, err := kvpg.OnceTx(t.Context(), start, space, key, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
				var me int64
				if err := tx.QueryRow(ctx, `select pg_backend_pid()::bigint`).Scan(&me); err != nil {
					return nil, err
				}
				ran <- uint32(me)
				<-proceed
				return write(tx, "second")(ctx)
			}, nil)
			answers <- answer{r, err}
		}()
	}
	waiting := map[uint32]bool{}
	for range n {
		backend := await(t, began)
		testdb.WaitForLock(t, db, backend)
		waiting[backend] = true
	}
	if !ask[bool](t, pool, `select pg_terminate_backend($1, 10000)`, int32(pidOfHolder(t, pool))) {
		t.Fatal("the first has not ended")
	}
	second := await(t, ran)
	delete(waiting, second)
	for backend := range waiting {
		testdb.WaitForLock(t, db, backend)
		if blocking := ask[string](t, pool, `select pg_blocking_pids($1)::text`, int64(backend)); blocking != fmt.Sprintf("{%d}", second) {
			t.Errorf("a duplicate waits for %s, want %d, which runs now", blocking, second)
		}
	}
	close(proceed)
	replays := 0
	for range n {
		a := await(t, answers)
		if a.err != nil || string(a.result.Result) != "second" {
			t.Errorf("got %+v, %v", a.result, a.err)
		}
		if a.result.Replayed {
			replays++
		}
	}
	if replays != n-1 || len(ran) != 0 {
		t.Errorf("%d replayed, %d more ran; want %d and none", replays, len(ran), n-1)
	}
	if got := effects(t, db); got != "second" {
		t.Errorf("effects: %q", got)
	}
}

// pidOfHolder is the session that has the key's lock and waits for nobody.
func pidOfHolder(t *testing.T, db kvpg.DB) int64 {
	t.Helper()
	return ask[int64](t, db, `select pid::bigint from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
		and pid in (select pid from pg_locks where locktype = 'advisory' and granted)`)
}
