package handles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A bouncer is a PgBouncer in transaction pooling, before the server that holds a database.
type bouncer struct {
	target
	version version
}

type version struct{ major, minor int }

func (v version) before(major, minor int) bool {
	return v.major < major || v.major == major && v.minor < minor
}

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// prepared is the first release that follows prepared statements of the protocol from server to server.
var prepared = version{1, 21}

// findBouncer gives the program and its version; where there is none the test is counted as not run.
func findBouncer(t *testing.T) (string, version) {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer") // Debian's place, which is not in everybody's PATH
	}
	if err != nil {
		testdb.NotRun(t, "pgbouncer is not installed")
	}
	out := must[[]byte](t)(exec.CommandContext(t.Context(), path, "--version").Output())
	m := regexp.MustCompile(`PgBouncer (\d+)\.(\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("no version in %q", out)
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	return path, version{major, minor}
}

// startBouncer starts one for a database, with so many connections to the server, which it takes in turn. It listens on a Unix
// socket that this user alone can reach, and ends with the test.
func startBouncer(t *testing.T, database *testdb.DB, connections, maxPrepared int) bouncer {
	t.Helper()
	path, v := findBouncer(t)
	dir := must[string](t)(os.MkdirTemp("", "kv-pgb-")) // t.TempDir is too long for a socket's path
	t.Cleanup(func() { os.RemoveAll(dir) })
	server := must[*pgx.ConnConfig](t)(pgx.ParseConfig(database.URL()))
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
%s = host=%s port=%d user=%s password='%s'
[pgbouncer]
pool_mode = transaction
default_pool_size = %d
server_round_robin = 1
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = any
ignore_startup_parameters = extra_float_digits
logfile = %s
`,
		database.Name, server.Host, server.Port, server.User, strings.ReplaceAll(server.Password, "'", "''"), connections, dir, filepath.Join(dir, "log"))
	if !v.before(prepared.major, prepared.minor) {
		text += fmt.Sprintf("max_prepared_statements = %d\n", maxPrepared)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, config)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ownedByNobody(t, cmd, dir, config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }() // how it ended stands in its output
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it holds nothing that would be lost
		<-gone
	})
	b := bouncer{target{url: fmt.Sprintf("host=%s port=6432 user=%s dbname=%s sslmode=disable", dir, server.User, database.Name)}, v}
	b.wait(t, gone, &out)
	return b
}

// ownedByNobody makes it run as an ordinary user where we are root, which PgBouncer refuses.
func ownedByNobody(t *testing.T, cmd *exec.Cmd, paths ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	nobody := must[*user.User](t)(user.Lookup("nobody"))
	uid, err1 := strconv.Atoi(nobody.Uid)
	gid, err2 := strconv.Atoi(nobody.Gid)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// wait returns when it answers.
func (b bouncer) wait(t *testing.T, gone <-chan struct{}, out *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, b.url)
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		select {
		case <-gone:
			t.Fatalf("PgBouncer ended at once:\n%s", out)
		case <-ctx.Done():
			t.Fatalf("PgBouncer does not answer: %v", err)
		case <-poll.C:
		}
	}
}

// fill has the bouncer open all its connections to the server: it holds so many transactions at once.
func (b bouncer) fill(t *testing.T, connections int) {
	t.Helper()
	pids := map[int]bool{}
	var held []*pgx.Conn
	for range connections {
		conn := must[*pgx.Conn](t)(pgx.ConnectConfig(t.Context(), connConfig(t, b.target, pgx.QueryExecModeSimpleProtocol)))
		held = append(held, conn)
		var pid int
		if err := errors.Join(execute(t, conn, "begin"), conn.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&pid)); err != nil {
			t.Fatal(err)
		}
		pids[pid] = true
	}
	for _, conn := range held {
		if err := errors.Join(execute(t, conn, "commit"), conn.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if len(pids) != connections {
		t.Fatalf("%d transactions at once ran in %d connections", connections, len(pids))
	}
}

func execute(t *testing.T, conn *pgx.Conn, sql ...string) error {
	_, err := conn.Exec(t.Context(), strings.Join(sql, ";"))
	return err
}
