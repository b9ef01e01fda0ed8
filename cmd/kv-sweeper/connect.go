package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/sweeper"
)

// database is how a command finds its database.
type database struct {
	DatabaseURL    string        `env:"KV_SWEEPER_DATABASE_URL,DATABASE_URL" placeholder:"URL" help:"PostgreSQL connection string, a URL or keywords and values. Empty: the PG* variables, as psql reads them. Prefer the environment: arguments can be seen by other users."`
	ConnectTimeout time.Duration `default:"10s" help:"How long one attempt to connect may take."`
}

// config reads the connection string. Unless it says otherwise, pgx prepares no statements, so that a pooler between in
// transaction mode makes no difference.
func (d *database) config() (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(d.DatabaseURL)
	if err != nil {
		return nil, withRemedy("connect", err)
	}
	cfg.MaxConns = 2
	c := cfg.ConnConfig
	if c.ConnectTimeout == 0 || c.ConnectTimeout == 2*time.Minute { // pgx's default
		c.ConnectTimeout = d.ConnectTimeout
	}
	if c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "kv-sweeper"
	}
	return cfg, nil
}

// pool connects lazily.
func (d *database) pool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg, err := d.config()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	return pool, withRemedy("connect", err)
}

// conn is one connection.
func (d *database) conn(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := d.config()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	return conn, withRemedy("connect", err)
}

// withRemedy says what to do about an error of the database.
func withRemedy(doing string, err error) error {
	if err == nil {
		return nil
	}
	if remedy := sweeper.RemedyFor(err); remedy != "" {
		return fmt.Errorf("%s: %w: %s", doing, err, remedy)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
