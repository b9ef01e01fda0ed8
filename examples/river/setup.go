package main

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/queenkv/queenkv/kvpg"
)

//go:embed schema.sql
var schemaSQL string

// schemaName admits what can be both a plain SQL name and the head of a namespace.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// A shop is both halves over one database.
type shop struct {
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	worker  *receiptWorker
	webhook *webhook
}

// openShop connects, checks that the queen.kv schema is there, and makes River's tables and the example's where they are
// not. Nothing is worked before client.Start.
func openShop(ctx context.Context, url, schema string, withoutOnce bool) (*shop, error) {
	if !schemaName.MatchString(schema) {
		return nil, fmt.Errorf("-schema %q: a name of lower-case letters, digits and _, at most 41, is needed", schema)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &shop{pool: pool, worker: &receiptWorker{
		pool: pool, receipts: kvpg.NewNamespace(schema + ".receipts"), withoutOnce: withoutOnce,
	}}
	err = kvpg.CheckSchema(ctx, pool)
	if err == nil {
		err = makeTables(ctx, pool, schema)
	}
	if err == nil {
		s.client, err = newClient(pool, schema, s.worker)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.webhook = &webhook{pool: pool, deliveries: kvpg.NewNamespace(schema + ".deliveries"), jobs: s.client, withoutOnce: withoutOnce}
	return s, nil
}

func newClient(pool *pgxpool.Pool, schema string, worker *receiptWorker) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema:            schema,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		Workers:           workers,
		FetchCooldown:     10 * time.Millisecond,
		FetchPollInterval: 100 * time.Millisecond,
		Logger:            slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

// makeTables makes them in several transactions, which River's migrations need.
func makeTables(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	// One process after the other: CREATE ... IF NOT EXISTS alone is no guard against that. The lock goes with its session.
	locked, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer locked.Close(context.WithoutCancel(ctx))
	const lock = `select pg_advisory_lock(hashtextextended('queen.kv example river', 0))`
	for _, sql := range []string{lock, "create schema if not exists " + schema, schemaSQL} {
		if _, err := locked.Exec(ctx, sql); err != nil {
			return fmt.Errorf("making the example's tables: %w", err)
		}
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("making River's tables: %w", err)
	}
	return nil
}
