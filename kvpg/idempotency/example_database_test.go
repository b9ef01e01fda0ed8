package idempotency_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv"
)

// openDatabase makes a database for an example, with the schema of queen.kv and tables of the example's own.
func openDatabase(tables string) (pool *pgxpool.Pool, drop func(), err error) {
	ctx := context.Background()
	url := os.Getenv("KV_TEST_DATABASE_URL")
	if url == "" {
		return nil, nil, errors.New("the example has not run: no database; run make test, or set KV_TEST_DATABASE_URL")
	}
	admin, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	name := "kv_example_" + strings.ToLower(rand.Text())
	if _, err := admin.Exec(ctx, "create database "+name); err != nil {
		return nil, nil, errors.Join(err, admin.Close(ctx))
	}
	remove := func() {
		if pool != nil {
			pool.Close()
		}
		_, err := admin.Exec(ctx, "drop database "+name+" with (force)")
		if err := errors.Join(err, admin.Close(ctx)); err != nil {
			fmt.Println(err) // which fails the example
		}
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, nil, err
	}
	config.ConnConfig.Database = name
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close(ctx)
	if err := queenkv.Install(ctx, conn, nil); err != nil {
		return nil, nil, err
	}
	if _, err := conn.Exec(ctx, tables); err != nil {
		return nil, nil, err
	}
	pool, err = pgxpool.NewWithConfig(ctx, config)
	return pool, remove, err
}
