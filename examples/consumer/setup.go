package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

//go:embed schema.sql
var schemaSQL string

// schemaName admits what can be both a plain SQL name and the head of a namespace.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// setupLock makes processes that start at once make the tables one after the other: CREATE ... IF NOT EXISTS alone is no
// guard against that.
const setupLock = `select pg_advisory_xact_lock(hashtextextended('queen.kv example consumer', 0))`

func (cfg config) url() string {
	return cmp.Or(cfg.database, os.Getenv("KV_TEST_DATABASE_URL"), os.Getenv("DATABASE_URL"))
}

// open connects, checks that the queen.kv schema is there, and makes the example's tables where they are not. Another schema
// is another log, with a cursor of its own.
func open(ctx context.Context, cfg config) (*pgxpool.Pool, error) {
	if !schemaName.MatchString(cfg.schema) {
		return nil, fmt.Errorf("-schema %q: a name of lower-case letters, digits and _, at most 41, is needed", cfg.schema)
	}
	url := cfg.url()
	if url == "" {
		return nil, errors.New("no database: give -database, or set DATABASE_URL")
	}
	poolConfig, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	poolConfig.ConnConfig.RuntimeParams["search_path"] = cfg.schema
	poolConfig.ConnConfig.RuntimeParams["application_name"] = applicationName(os.Getpid())
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return nil, err
	}
	err = kvpg.CheckSchema(ctx, pool)
	if err == nil {
		err = makeTables(ctx, pool, cfg.schema)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

func makeTables(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, sql := range []string{setupLock, "create schema if not exists " + schema, schemaSQL} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return fmt.Errorf("making the example's tables: %w", err)
			}
		}
		return nil
	})
}

// cursors is the namespace of a schema's cursors.
func cursors(schema string) kvpg.Namespace { return kvpg.NewNamespace(schema + ".cursors") }
