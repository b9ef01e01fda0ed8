package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	benchserver "github.com/queenkv/queenkv/bench/internal/server"
)

// A server is the throwaway cluster with a connection to it, and the pgbench that loads it.
type server struct {
	*benchserver.Server
	pgbench string
	env     []string // pgbench's: over the cluster's Unix socket
	calls   int      // rows of bench.call
}

func startServer(ctx context.Context, o options) (*server, error) {
	bin, err := benchserver.Binaries()
	if err != nil {
		return nil, err
	}
	pgbench, err := findPgbench(bin.Dir)
	if err != nil {
		return nil, err
	}
	started, err := benchserver.Start(ctx, bin, o.fsync)
	if err != nil {
		return nil, err
	}
	s := &server{Server: started, pgbench: pgbench}
	if s.env, err = s.environ(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// environ leads pgbench to the socket.
func (s *server) environ() ([]string, error) {
	u, err := url.Parse(s.Cluster.URL())
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
	return append(env, "PGHOST="+s.Cluster.Dir, "PGPORT="+u.Port(), "PGUSER="+u.User.Username(),
		"PGPASSWORD="+password, "PGDATABASE="+strings.TrimPrefix(u.Path, "/")), nil
}

// prepare makes the arguments of a cell's calls.
func (s *server) prepare(ctx context.Context, c cell) error {
	err := s.Exec(ctx,
		`drop table if exists bench.call`,
		`create table bench.call as `+c.calls,
		`alter table bench.call add primary key (id)`,
		`vacuum (analyze) bench.call`)
	if err != nil {
		return err
	}
	return s.Conn.QueryRow(ctx, `select count(*) from bench.call`).Scan(&s.calls)
}

// load puts the table into the state in which every run of a cell begins.
func (s *server) load(ctx context.Context, c cell) error {
	return s.Exec(ctx,
		`truncate queen.kv`,
		fmt.Sprintf(`insert into queen.kv (namespace, key, value, expires_at)
			select 'bench', %s, %s, clock_timestamp() + interval '2 hours' from generate_series(1, %d) as i`, rowKey, c.stored, tableRows),
		`vacuum (analyze) queen.kv`,
		`checkpoint`)
}

// findPgbench looks beside the server's binaries, then in the PATH: a pgbench of another version
// will do.
func findPgbench(dir string) (string, error) {
	beside := filepath.Join(dir, "pgbench")
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	path, err := exec.LookPath("pgbench")
	if err != nil {
		return "", fmt.Errorf("no pgbench in %s nor in the PATH; it comes with PostgreSQL's server package or, elsewhere, with postgresql-contrib", dir)
	}
	return path, nil
}
