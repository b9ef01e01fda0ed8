package sweepergo

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// pooler starts PgBouncer in transaction mode before a database, with one server connection for all clients, and gives the connection
// string that leads through it.
func pooler(t *testing.T, target string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		testdb.NotRun(t, "no pgbouncer")
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	password, _ := u.User.Password()
	host, serverPort := u.Hostname(), u.Port()
	if host == "" { // a socket
		host, serverPort = u.Query().Get("host"), u.Query().Get("port")
	}
	if serverPort == "" {
		serverPort = "5432"
	}
	name := strings.TrimPrefix(u.Path, "/")
	// Another user than root must read it, and PgBouncer will not run as root.
	dir, err := os.MkdirTemp("", "kv-pgbouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ini := filepath.Join(dir, "pgbouncer.ini")
	config := fmt.Sprintf(`[databases]
%[1]s = host=%[2]s port=%[3]s dbname=%[1]s user=%[4]s password='%[5]s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[6]d
auth_type = any
pool_mode = transaction
default_pool_size = 1
unix_socket_dir =
`, name, host, serverPort, u.User.Username(), strings.ReplaceAll(password, "'", "''"), port)
	if err := os.WriteFile(ini, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{ini}
	if os.Getuid() == 0 {
		args = append([]string{"-u", "nobody"}, args...)
	}
	cmd := exec.Command(path, args...)
	log := &lines{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log)
		}
	})
	eventually(t, "PgBouncer listens", func() bool {
		c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return fmt.Sprintf("postgres://anybody@127.0.0.1:%d/%s?sslmode=disable", port, name)
}

// Through transaction pooling the program works with its defaults: it prepares nothing, and leaves no setting on the connection
// that the next client gets.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 500)
	through := pooler(t, db.URL())
	for range 2 {
		r := start(t, connection(through), append(quick, "--step-timeout", "4321ms")...)
		eventually(t, "it sweeps", func() bool { expired, _ := count(t, db); return expired == 0 })
		eventually(t, "it measures", func() bool { v, _ := r.metric(t, `kv_sweeper_steps_total{kind="usage"}`); return v > 0 })
		for series, want := range map[string]float64{`kv_sweeper_errors_total{class="other"}`: 0, `kv_sweeper_errors_total{class="conflict"}`: 0} {
			if v, found := r.metric(t, series); !found || v != want {
				t.Errorf("%s: %v", series, v)
			}
		}
		fillMore(t, db)
	}
	if e := play(t, connection(through), "once", "--json"); e.status != 0 || result(t, e).End != "drained" {
		t.Errorf("once: %+v", e)
	}
	e := play(t, connection(through), "doctor", "--json")
	if e.status != 0 {
		t.Errorf("doctor: %+v", e)
	}
	// Both clients shared one server connection; its setting is the server's own.
	out, err := exec.Command("psql", "-XAtq", through, "-c", "show statement_timeout").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "0" {
		t.Errorf("statement_timeout is left at %s, %v", out, err)
	}
}

// fillMore makes some more rows that have expired.
func fillMore(t *testing.T, db *testdb.DB) {
	t.Helper()
	db.Exec(t, `insert into queen.kv (namespace, key, value, expires_at)
		select 'more', gen_random_uuid()::text, '1', clock_timestamp() - interval '1 second' from generate_series(1, 100)`)
}
