package sweepergo

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/sweeper"
	"github.com/queenkv/queenkv/tests/testdb"
)

// fill makes rows that have expired, and as many that have not.
func fill(t *testing.T, db *testdb.DB, expired int) {
	t.Helper()
	db.Exec(t, `insert into queen.kv (namespace, key, value, expires_at)
		select 'swept', 'old' || g, '1'::jsonb, clock_timestamp() - interval '1 hour' + g * interval '1 millisecond' from generate_series(1, $1::int) as g
		union all select 'swept', 'new' || g, '1', clock_timestamp() + interval '1 hour' from generate_series(1, $1::int) as g
		union all select 'swept', 'forever' || g, '1', null from generate_series(1, $1::int) as g`, expired)
}

// count counts rows: those that are expired, and the others.
func count(t *testing.T, db *testdb.DB) (expired, live int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL()) // closed at once: tests ask again and again
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	err = conn.QueryRow(t.Context(), `select count(*) filter (where expires_at <= clock_timestamp()),
		count(*) filter (where expires_at is null or expires_at > clock_timestamp()) from queen.kv`).Scan(&expired, &live)
	if err != nil {
		t.Fatal(err)
	}
	return expired, live
}

// grantee is a role with a level.
func grantee(t *testing.T, db *testdb.DB, level string) string {
	t.Helper()
	role := db.Role(t)
	db.Exec(t, "select queen.kv_grant_v1($1::text::regrole, $2)", role, level)
	return role
}

// A sweeper needs no more than its level, in each of pgx's modes.
func TestRunOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, nil)
			fill(t, db, 3000)
			pool := db.PoolAs(t, grantee(t, db, "sweeper"), func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			s := sweeper.New(pool, nil)
			if err := s.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			b, err := s.Backlog(t.Context(), 2000)
			if err != nil || b.Rows != 2000 || !b.Capped || b.Lag < 50*time.Minute || b.Lag > 2*time.Hour {
				t.Errorf("backlog %+v, %v", b, err)
			}
			r, err := s.RunOnce(t.Context())
			if err != nil || r.End != sweeper.Drained || r.Deleted != 3000 || r.Left != 0 || !r.Measured || r.Tenants != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			if expired, live := count(t, db); expired != 0 || live != 6000 {
				t.Errorf("%d expired and %d live rows are left", expired, live)
			}
			if b, err := s.Backlog(t.Context(), 2000); err != nil || b != (sweeper.Backlog{}) {
				t.Errorf("backlog %+v, %v", b, err)
			}
			var rows int64
			if err := pool.QueryRow(t.Context(), "select rows from queen.kv_usage").Scan(&rows); err != nil || rows != 6000 {
				t.Errorf("measured %d rows, %v", rows, err)
			}
		})
	}
}

// The timeout is of each step's transaction alone, so that it passes through a pooler and stays behind on no connection.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 100)
	pool := db.Pool(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
	s := sweeper.New(pool, &sweeper.Options{StepTimeout: time.Second, Retries: -1})
	if err := s.Check(t.Context()); err != nil { // which commits; a setting would go with a rollback
		t.Fatal(err)
	}
	holder := db.Conn(t)
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	if _, err := tx.Exec(t.Context(), "lock table queen.kv in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RunOnce(t.Context()); sweeper.ClassOf(err) != sweeper.Timeout {
		t.Errorf("%v, want a timeout", err)
	}
	var setting string
	if err := pool.QueryRow(t.Context(), "show statement_timeout").Scan(&setting); err != nil || setting != "0" {
		t.Errorf("statement_timeout is left at %s, %v", setting, err)
	}
}

// Two sweepers at once share the work: each row is deleted once, and each of them deletes some.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 20_000)
	type outcome struct {
		sweeper.Result
		err error
	}
	results := make(chan outcome)
	both := make(chan struct{}, 2)
	begin := make(chan struct{})
	for range 2 {
		pool := db.Pool(t)
		go func() {
			first := true
			r, err := sweeper.New(pool, &sweeper.Options{FirstBatch: 200, MaxBatch: 200, Hooks: sweeper.Hooks{Step: func(sweeper.Step) {
				if first { // neither goes on before the other has begun
					first = false
					both <- struct{}{}
					<-begin
				}
			}}}).RunOnce(t.Context())
			results <- outcome{r, err}
		}()
	}
	<-both
	<-both
	close(begin)
	var sum int64
	for range 2 {
		r := <-results
		if r.err != nil || r.End != sweeper.Drained || r.Deleted < 200 {
			t.Errorf("%+v", r)
		}
		sum += r.Deleted
	}
	if expired, live := count(t, db); sum != 20_000 || expired != 0 || live != 40_000 {
		t.Errorf("%d deleted; %d expired and %d live rows are left", sum, expired, live)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	empty := testdb.New(t, &testdb.Options{Empty: true})
	if err := sweeper.New(empty.Pool(t), nil).Check(t.Context()); sweeper.ClassOf(err) != sweeper.Schema {
		t.Errorf("no schema: %v", err)
	}
	db := testdb.New(t, nil)
	for name, c := range map[string]struct {
		pool *pgxpool.Pool
		want sweeper.Class
	}{
		"no rights":   {db.PoolAs(t, db.Role(t)), sweeper.Rights},
		"a writer":    {db.PoolAs(t, grantee(t, db, "writer")), sweeper.Rights},
		"an admin":    {db.PoolAs(t, grantee(t, db, "admin")), ""},
		"a sweeper":   {db.PoolAs(t, grantee(t, db, "sweeper")), ""},
		"the owner":   {db.Pool(t), ""},
		"no database": {badPool(t, db), sweeper.Config},
	} {
		if err := sweeper.New(c.pool, nil).Check(t.Context()); sweeper.ClassOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	role := grantee(t, db, "sweeper")
	db.Exec(t, "alter table queen.kv enable row level security")
	if err := sweeper.New(db.PoolAs(t, role), nil).Check(t.Context()); sweeper.ClassOf(err) != sweeper.Hidden {
		t.Errorf("row-level security: %v", err)
	}
	db.Exec(t, "alter table queen.kv disable row level security")
	db.Exec(t, "create or replace function queen.kv_schema_version_v1() returns integer language sql immutable parallel safe begin atomic select 0; end")
	if err := sweeper.New(db.PoolAs(t, role), nil).Check(t.Context()); sweeper.ClassOf(err) != sweeper.Schema {
		t.Errorf("an old schema: %v", err)
	}
}

func badPool(t *testing.T, db *testdb.DB) *pgxpool.Pool {
	return db.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.Database = "no_such_database" })
}

// A look takes any bound, and a step of measuring any number of tenants.
func TestAnyNumber(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 3)
	s := sweeper.New(db.Pool(t), &sweeper.Options{UsageTenants: math.MaxInt})
	for atMost, want := range map[int64]sweeper.Backlog{
		math.MaxInt64: {Rows: 3}, 3: {Rows: 3}, 2: {Rows: 2, Capped: true}, 0: {Rows: 1, Capped: true}, math.MinInt64: {Rows: 1, Capped: true},
	} {
		b, err := s.Backlog(t.Context(), atMost)
		if err != nil || b.Rows != want.Rows || b.Capped != want.Capped {
			t.Errorf("at most %d: %+v, %v, want %+v", atMost, b, err, want)
		}
	}
	if r, err := s.RunOnce(t.Context()); err != nil || r.End != sweeper.Drained || !r.Measured || r.Tenants != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
