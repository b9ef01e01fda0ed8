package main

import (
	"context"
	_ "embed"
	"fmt"
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
const setupLock = `select pg_advisory_xact_lock(hashtextextended('queen.kv example payments', 0))`

// openBook connects, checks that the queen.kv schema is there, and makes the example's tables where they are not.
// Another schema is another set of books, with keys of its own.
func openBook(ctx context.Context, url, schema string, workers int) (*book, error) {
	if !schemaName.MatchString(schema) {
		return nil, fmt.Errorf("-schema %q: a name of lower-case letters, digits and _, at most 41, is needed", schema)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(workers)
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "payments"
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	err = kvpg.CheckSchema(ctx, pool)
	if err == nil {
		err = makeTables(ctx, pool, schema)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &book{
		pool:       pool,
		deliveries: kvpg.NewNamespace(schema + ".deliveries"),
		counters:   kvpg.NewNamespace(schema + ".counters"),
	}, nil
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
