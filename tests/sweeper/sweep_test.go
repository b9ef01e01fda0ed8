package sweeper

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A call drains and measures all, each step in a transaction of its own, in READ COMMITTED whatever the session's default is.
func TestSweepCall(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	owner, role := db.Conn(t), db.Role(t)
	exec(t, owner, "select queen.kv_grant_v1($1::text::regrole, 'sweeper')", role)
	insert(t, owner, 1, 5000, "clock_timestamp() - i * interval '1 second'")
	insert(t, owner, 5001, 5010, "null")
	fill(t, owner, tenant(1), 10, 10)
	for i := 2; i < 10; i++ {
		fill(t, owner, tenant(i), 1, 10)
	}
	exec(t, owner, "create table public.step (xid xid8, isolation text); grant insert on public.step to public")
	exec(t, owner, `create function public.note() returns trigger language plpgsql as
		$$ begin insert into public.step values (pg_current_xact_id(), current_setting('transaction_isolation')); return null; end $$`)
	exec(t, owner, "create trigger note after delete on queen.kv for each statement execute function public.note()")

	conn := db.ConnAs(t, role)
	exec(t, conn, "set default_transaction_isolation = serializable")
	began := time.Now()
	exec(t, conn, "call queen.kv_sweep_v1(p_seconds => 60, p_max_rows => 500, p_max_tenants => 2, p_stay => false)")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v, and need not stay", took)
	}
	if n := value[int](t, owner, "select count(*) from queen.kv where not queen.kv_live_v1(expires_at, clock_timestamp())"); n != 0 {
		t.Errorf("%d expired rows are left", n)
	}
	if got := value[string](t, owner, "select (count(distinct xid) >= 10)::text || ' ' || string_agg(distinct isolation, ', ') from public.step"); got != "true read committed" {
		t.Errorf("more than ten transactions in READ COMMITTED: %s", got)
	}
	if got := value[string](t, owner, "select count(*) || ' ' || sum(rows) from queen.kv_usage"); got != "10 23" {
		t.Errorf("%s: measured tenants and rows, want 10 and the 10+5+8 rows that are left", got)
	}
}

// A call that ends before all tenants are measured is followed by one that goes on after the last.
func TestSweepComesRound(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for i := 1; i <= 5; i++ {
		fill(t, conn, tenant(i), 1, 10)
	}
	exec(t, conn, "insert into queen.kv_usage values ($1, 0, 0, false, '2090-01-01Z')", tenant(5)) // of a clock that was wrong
	state := value[string](t, conn, "select queen.kv_sweep_plan_v1(60, 100, 2, false)::text")
	for range 2 { // a step of expiry, one of measuring
		state = value[string](t, conn, "select queen.kv_sweep_turn_v1($1)::text", state)
	}
	state = value[string](t, conn, "select queen.kv_sweep_plan_v1(60, 100, 2, false)::text") // the next call
	order := ""
	for i := 0; i < 20; i++ {
		next := value[*string](t, conn, "select queen.kv_sweep_turn_v1($1)::text", state)
		if next == nil {
			break
		}
		state = *next
		order = value[string](t, conn, "select string_agg(left(tenant_id::text, 8)::int::text, ' ' order by computed_at, tenant_id) from queen.kv_usage")
	}
	if order != "5 1 2 3 4" && order != "1 2 3 4 5" {
		t.Errorf("measured in the order %s", order)
	}
	if n := value[int](t, conn, "select count(*) from queen.kv_usage where computed_at < '2089-01-01Z' and rows = 1"); n != 5 {
		t.Errorf("%d of 5 tenants are measured", n)
	}
}

// Where a step was long, the pause after it is: an old snapshot must not make the loop walk over the same rows all the time.
func TestSweepPausesAfterALongStep(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	turn := func(with string) (state string) {
		t.Helper()
		return value[string](t, conn, "select queen.kv_sweep_turn_v1(queen.kv_sweep_plan_v1(60, 100, 0, true) || $1::text::jsonb)::text", with)
	}
	if state := turn(`{"do": "expire"}`); value[float64](t, conn, "select ($1::text::jsonb ->> 'took')::float8", state) <= 0 {
		t.Errorf("no time is told: %s", state)
	}
	began := time.Now()
	turn(`{"do": "pause", "took": 0.6}`)
	if took := time.Since(began); took < 1800*time.Millisecond {
		t.Errorf("a pause of %v after a step of 0.6 s, want 1.8 s", took)
	}
}

// A call that stays sweeps what expires while it is there, and ends with its time; one with too much to do ends with its time too.
func TestSweepEndsWithItsTime(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		conn := testdb.New(t, nil).Conn(t)
		began := time.Now()
		insert(t, conn, 1, 10, "clock_timestamp() + interval '400 milliseconds'")
		exec(t, conn, "call queen.kv_sweep_v1(2)")
		if took := time.Since(began); took < 2*time.Second || took > 20*time.Second {
			t.Errorf("it took %v, want its 2 seconds and a little", took)
		}
		if n := rows(t, conn); n != 0 {
			t.Errorf("%d rows are left, of those that expired meanwhile", n)
		}
	})
	t.Run("busy", func(t *testing.T) {
		t.Parallel()
		conn := testdb.New(t, nil).Conn(t)
		insert(t, conn, 1, 30_000, "clock_timestamp() - i * interval '1 second'")
		began := time.Now()
		exec(t, conn, "call queen.kv_sweep_v1(1, 2)")
		if took := time.Since(began); took < time.Second || took > 20*time.Second {
			t.Errorf("it took %v, want its second and a little", took)
		}
		if n := rows(t, conn); n == 0 || n == 30_000 {
			t.Errorf("%d rows are left, want some", n)
		}
	})
}

// It commits: inside a transaction, or beside another statement of one string, it is an error that names what is wrong, and
// nothing was done.
func TestSweepMustBeAlone(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	insert(t, conn, 1, 10, "timestamptz '2020-01-01Z'")
	for _, sql := range []string{"begin; call queen.kv_sweep_v1(1)", "select 1; call queen.kv_sweep_v1(1)", "do 'begin call queen.kv_sweep_v1(1); end'; select 1"} {
		err := conn.PgConn().Exec(t.Context(), sql).Close()
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "2D000" || !strings.Contains(pg.Where, "kv_must_run_outside_a_transaction_v1") {
			t.Errorf("%s: %v", sql, err)
		}
		exec(t, conn, "rollback")
	}
	for _, args := range []string{"0", "null", "86401", "5, 0", "5, null", "5, 10, -1", "5, 10, null"} {
		if got := sqlState(conn.PgConn().Exec(t.Context(), "call queen.kv_sweep_v1("+args+")").Close()); got != "22023 kv_bad_request" {
			t.Errorf("%s: %s, want kv_bad_request", args, got)
		}
	}
	if n := rows(t, conn); n != 10 {
		t.Errorf("%d rows are left of 10", n)
	}
}

// With a schema ahead of pg_catalog that holds all of its functions and operators once more, each of which raises, a sweeper
// sweeps, measures and reads quotas all the same.
func TestSweepWithAHostilePath(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../conformance/hostile.sql")
	must(t, err)
	db := testdb.New(t, nil)
	owner, role := db.Conn(t), db.Role(t)
	exec(t, owner, "select queen.kv_grant_v1($1::text::regrole, 'sweeper')", role)
	insert(t, owner, 1, 3000, "timestamptz '2020-01-01Z' + i * interval '1 second'")
	exec(t, owner, "select queen.kv_quota_set_v1($1, 1, 1)", tenant(1))
	exec(t, owner, string(text))
	hostile := db.ConnAs(t, role, func(cfg *pgx.ConnConfig) { cfg.RuntimeParams["search_path"] = "hostile, pg_catalog" }).PgConn()
	if err := hostile.Exec(t.Context(), "select 1 + 1").Close(); sqlState(err) != "ZZ666 hostile" {
		t.Fatalf("the hostile schema has no hold: %v", err)
	}
	for _, sql := range []string{
		"select queen.kv_expire_step_v1('{0,1,2,3}', null, 100)",
		"select queen.kv_expire_step_v1('{0,1,2,3}', null, 100, '2020-01-01 00:10:00Z')",
		"select queen.kv_usage_step_v1(null, 10)",
		"select * from queen.kv_quota_refresh_v1()",
		"select * from queen.kv_quota_refresh_v1(array['" + tenant(2) + "'::pg_catalog.uuid])",
		"call queen.kv_sweep_v1(30, 1000, 10, false)",
	} {
		if err := hostile.Exec(t.Context(), sql).Close(); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if n := rows(t, owner); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}
