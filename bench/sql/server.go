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

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/cluster"
)

// A server is the throwaway cluster, a connection to it and the pgbench that loads it.
type server struct {
	cluster *cluster.Cluster
	conn    *pgx.Conn
	pgbench string
	env     []string // pgbench's: over the cluster's Unix socket
	calls   int      // rows of bench.call
}

// settings keep the server's own work out of the runs: no vacuum (the table is loaded anew before
// each), no checkpoint but the one before each run.
var settings = map[string]string{
	"shared_buffers":     "256MB",
	"autovacuum":         "off",
	"checkpoint_timeout": "1h",
	"max_wal_size":       "4GB",
}

func startServer(ctx context.Context, o options) (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	pgbench, err := findPgbench(bin.Dir)
	if err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, bin, &cluster.Options{Durable: o.fsync, Settings: settings})
	if err != nil {
		return nil, err
	}
	s := &server{cluster: c, pgbench: pgbench}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) connect(ctx context.Context) error {
	u, err := url.Parse(s.cluster.URL())
	if err != nil {
		return err
	}
	password, _ := u.User.Password()
	s.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
	s.env = append(s.env, "PGHOST="+s.cluster.Dir, "PGPORT="+u.Port(), "PGUSER="+u.User.Username(),
		"PGPASSWORD="+password, "PGDATABASE="+strings.TrimPrefix(u.Path, "/"))
	if s.conn, err = pgx.Connect(ctx, s.cluster.URL()); err != nil {
		return err
	}
	if err := queenkv.Install(ctx, s.conn, nil); err != nil {
		return err
	}
	_, err = s.conn.Exec(ctx, `create schema bench`)
	return err
}

func (s *server) stop() error {
	if s.conn != nil {
		_ = s.conn.Close(context.Background()) // the server ends anyway
	}
	return s.cluster.Stop()
}

// prepare makes the arguments of a cell's calls.
func (s *server) prepare(ctx context.Context, c cell) error {
	err := s.exec(ctx,
		`drop table if exists bench.call`,
		`create table bench.call as `+c.calls,
		`alter table bench.call add primary key (id)`,
		`vacuum (analyze) bench.call`)
	if err != nil {
		return err
	}
	return s.conn.QueryRow(ctx, `select count(*) from bench.call`).Scan(&s.calls)
}

// load puts the table into the state in which every run of a cell begins.
func (s *server) load(ctx context.Context, c cell) error {
	return s.exec(ctx,
		`truncate queen.kv`,
		fmt.Sprintf(`insert into queen.kv (namespace, key, value, expires_at)
			select 'bench', %s, %s, clock_timestamp() + interval '2 hours' from generate_series(1, %d) as i`, rowKey, c.stored, tableRows),
		`vacuum (analyze) queen.kv`,
		`checkpoint`)
}

// exec runs statements, each in a transaction of its own.
func (s *server) exec(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func binaries() (cluster.Binaries, error) {
	if dir := os.Getenv("KV_TEST_POSTGRES_BIN"); dir != "" {
		b, err := cluster.In(dir)
		if err != nil {
			return b, fmt.Errorf("KV_TEST_POSTGRES_BIN: %w", err)
		}
		return b, nil
	}
	b, err := cluster.Find()
	if err != nil {
		return b, fmt.Errorf("%w; install PostgreSQL, or set KV_TEST_POSTGRES_BIN to the folder of its binaries", err)
	}
	return b, nil
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
