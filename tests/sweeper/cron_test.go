package sweeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/cluster"
	"github.com/queenkv/queenkv/tests/testdb"
)

// pg_cron runs the loop, in a background worker and over a connection of its own, for a role that is a sweeper. The schedule is
// @reboot, which is the one that need not wait for the next minute.
func TestPgCron(t *testing.T) {
	t.Parallel()
	b, err := cluster.In(testdb.PostgresBin(t))
	must(t, err)
	if there, _ := filepath.Glob(filepath.Join(b.Dir, "..", "lib", "*cron.so")); len(there) == 0 {
		if there, _ = filepath.Glob(filepath.Join(b.Dir, "..", "lib", "postgresql", "pg_cron.so")); len(there) == 0 {
			testdb.NotRun(t, "pg_cron is not installed for "+b.String()+" (apt-get install postgresql-15-cron, or of its version)")
		}
	}
	for name, workers := range map[string]string{"background worker": "on", "connection": "off"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testdb.Server(t, &cluster.Options{Settings: map[string]string{
				"shared_preload_libraries": "pg_cron", "cron.use_background_workers": workers, "cron.database_name": "postgres"}})
			conn, err := pgx.Connect(t.Context(), c.URL())
			must(t, err)
			insert(t, conn, 1, 3000, "timestamptz '2020-01-01Z' + i * interval '1 second'")
			insert(t, conn, 3001, 3001, "null")
			exec(t, conn, "create extension pg_cron; create role sweeper login; grant usage on schema cron to sweeper")
			exec(t, conn, "select queen.kv_grant_v1('sweeper', 'sweeper')")
			exec(t, conn, "alter role sweeper set default_transaction_isolation = 'serializable'")
			trust(t, conn)
			exec(t, conn, "set role sweeper")
			exec(t, conn, "select cron.schedule('sweep', '@reboot', 'call queen.kv_sweep_v1(30, 1000, 10, false)')")
			exec(t, conn, "select cron.schedule('not alone', '@reboot', 'select 1; call queen.kv_sweep_v1(30, 1000, 10, false)')")
			exec(t, conn, "reset role")
			exec(t, conn, "update cron.job set nodename = $1", c.Dir)
			must(t, errors.Join(conn.Close(t.Context()), c.Shutdown(), c.Restart(t.Context())))

			conn, err = pgx.Connect(t.Context(), c.URL())
			must(t, err)
			defer conn.Close(t.Context())
			if got := ended(t, conn, "sweep"); got != "succeeded" {
				t.Errorf("the job has %s", got)
			}
			if n := rows(t, conn); n != 1 {
				t.Errorf("%d rows are left, want the one for ever", n)
			}
			if n := value[int](t, conn, "select count(*) from queen.kv_usage where rows = 1"); n != 1 {
				t.Errorf("%d tenants are measured, want the one there is, with its one row", n)
			}
			if got := ended(t, conn, "not alone"); !strings.HasPrefix(got, "failed") || !strings.Contains(got, "invalid transaction termination") {
				t.Errorf("the job with two statements has %s, want invalid transaction termination", got)
			}
		})
	}
}

// trust lets pg_cron connect without a password, over the socket.
func trust(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	path := value[string](t, conn, "show hba_file")
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append([]byte("local all sweeper trust\n"), text...), 0o600))
}

// ended waits until a job has run, and tells how that ended.
func ended(t *testing.T, conn *pgx.Conn, job string) string {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for limit := time.Now().Add(40 * time.Second); time.Now().Before(limit); <-poll.C {
		got := value[*string](t, conn, `select max(d.status || ' ' || coalesce(d.return_message, '')) from cron.job_run_details as d join cron.job as j using (jobid)
			where j.jobname = $1 and d.status in ('succeeded', 'failed')`, job)
		if got != nil {
			first, _, _ := strings.Cut(*got, " ")
			if first == "succeeded" {
				return first
			}
			return *got
		}
	}
	return "not ended: " + value[string](t, conn, "select coalesce(string_agg(d::text, '; '), 'no run') from cron.job_run_details as d")
}
