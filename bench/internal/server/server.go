// Package server starts the throwaway cluster that a benchmark measures, with the schema installed.
package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/cluster"
)

// A Server is the cluster and a connection to it.
type Server struct {
	Cluster *cluster.Cluster
	Conn    *pgx.Conn
}

// settings keep the server's own work out of the runs: no vacuum and no checkpoint but those that a benchmark makes itself.
var settings = map[string]string{
	"shared_buffers":     "256MB",
	"autovacuum":         "off",
	"checkpoint_timeout": "1h",
	"max_wal_size":       "4GB",
}

// Start makes a cluster of the binaries that KV_TEST_POSTGRES_BIN names, or that are on this machine, and installs the schema and
// an empty schema named bench. Without fsync, full_page_writes is off too.
func Start(ctx context.Context, bin cluster.Binaries, fsync bool) (*Server, error) {
	c, err := cluster.Start(ctx, bin, &cluster.Options{Durable: fsync, Settings: settings})
	if err != nil {
		return nil, err
	}
	s, err := Install(ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return s, nil
}

// With starts a cluster of Binaries for the time of f.
func With(ctx context.Context, fsync bool, f func(s *Server) error) (err error) {
	bin, err := Binaries()
	if err != nil {
		return err
	}
	s, err := Start(ctx, bin, fsync)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := s.Stop(); err == nil {
			err = stopErr
		}
	}()
	return f(s)
}

// Install puts the schema into a new cluster, and an empty schema named bench. After an error the cluster is still the caller's to stop.
func Install(ctx context.Context, c *cluster.Cluster) (*Server, error) {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return nil, err
	}
	s := &Server{Cluster: c, Conn: conn}
	if err = queenkv.Install(ctx, conn, nil); err == nil {
		err = s.Exec(ctx, `create schema bench`)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Stop ends the cluster and removes it.
func (s *Server) Stop() error {
	_ = s.Conn.Close(context.Background()) // the server ends anyway
	return s.Cluster.Stop()
}

// Pool has at most so many connections.
func Pool(ctx context.Context, url string, most int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(most)
	return pgxpool.NewWithConfig(ctx, config)
}

// Exec runs statements, each in a transaction of its own.
func (s *Server) Exec(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := s.Conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// WAL is how many bytes of WAL the cluster has written. The difference of two is what was written between them, by whomever.
func (s *Server) WAL(ctx context.Context) (n int64, err error) {
	err = s.Conn.QueryRow(ctx, `select (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&n)
	return n, err
}

// SocketURL is the superuser's connection string over the cluster's Unix socket.
func (s *Server) SocketURL() (string, error) {
	u, err := url.Parse(s.Cluster.URL())
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("host", s.Cluster.Dir)
	q.Set("port", u.Port())
	u.Host, u.RawQuery = "", q.Encode()
	return u.String(), nil
}

// Settings tells the server's version and the settings that matter to a measurement.
func (s *Server) Settings(ctx context.Context) (string, error) {
	var list []string
	for _, name := range []string{"server_version", "shared_buffers", "fsync", "full_page_writes", "synchronous_commit",
		"wal_level", "autovacuum", "checkpoint_timeout", "max_wal_size", "jit"} {
		var value string
		if err := s.Conn.QueryRow(ctx, `select current_setting($1)`, name).Scan(&value); err != nil {
			return "", err
		}
		list = append(list, name+" = "+value)
	}
	return strings.Join(list, ", "), nil
}

// Binaries are those that KV_TEST_POSTGRES_BIN names, or the newest on this machine.
func Binaries() (cluster.Binaries, error) {
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
