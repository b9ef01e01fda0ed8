package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/cluster"
	"github.com/queenkv/queenkv/tests/testdb"
)

// newCluster starts a server of the test's own. fsync is on, as in production; what is killed here are processes, and what they
// have written is the kernel's by then, so that nothing here tells whether a disk keeps it when the power fails.
func newCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	return testdb.Server(t, &cluster.Options{Durable: true})
}

// newDatabase makes a database with the schema and a ledger that nothing but Once keeps from holding a delivery twice.
func newDatabase(t *testing.T, c *cluster.Cluster, name string) *url.URL {
	t.Helper()
	execute(t, c.URL(), "create database "+name)
	u, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	err = queenkv.Install(t.Context(), conn, nil)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	execute(t, u.String(), "create table ledger (id bigint generated always as identity, delivery text not null)")
	return u
}

func execute(t *testing.T, url, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// through is a connection string that leads through a proxy, under a name for pg_stat_activity.
func through(u *url.URL, address, name string) (string, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", err
	}
	v := *u
	v.Host = address
	q := v.Query()
	q.Set("application_name", name)
	v.RawQuery = q.Encode()
	return v.String(), nil
}

// crashServer kills the postmaster and every other process of the server with SIGKILL.
func crashServer(ctx context.Context, c *cluster.Cluster) error {
	line, err := os.ReadFile(filepath.Join(c.Dir, "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(line, []byte("\n"))
	postmaster, err := strconv.Atoi(string(first))
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, "select pid from pg_stat_activity")
	if err != nil {
		return err
	}
	others, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return err
	}
	// The postmaster first: it would clean up after the others, and start anew by itself.
	for _, pid := range append([]int{postmaster}, others...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill -9 %d: %w", pid, err)
		}
	}
	return c.Kill() // waits for its end
}

// restartServer waits for what a killed server may have left behind: a backend that began in its last moment and has not yet
// found its postmaster dead. A new one doesn't start beside it.
func restartServer(ctx context.Context, c *cluster.Cluster) error {
	var err error
	for range 20 {
		if err = c.Restart(ctx); err == nil || !strings.Contains(err.Error(), "still in use") {
			return err
		}
	}
	return err
}
