package kvpg_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv"
)

// The examples run against a database of their own. Without one everything else runs, and the package fails.
const databaseVariable = "KV_TEST_DATABASE_URL"

func TestMain(m *testing.M) {
	url := os.Getenv(databaseVariable)
	if url == "" {
		os.Exit(withoutExamples(m))
	}
	drop, err := openExamples(url)
	status := 1
	if err == nil {
		status = m.Run()
	}
	if drop != nil {
		err = errors.Join(err, drop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the database of the examples:", err)
		status = 1
	}
	os.Exit(status)
}

func withoutExamples(m *testing.M) int {
	flag.Parse()
	run := flag.Lookup("test.run")
	if run.Value.String() != "" {
		return m.Run()
	}
	if err := flag.Set("test.run", "^(Test|Fuzz)"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m.Run()
	fmt.Fprintln(os.Stderr, "the examples have not run: no database; run make test, or set "+databaseVariable)
	return 1
}

// openExamples makes a database with the schema and what the examples write to, and sets pool.
func openExamples(url string) (drop func() error, err error) {
	admin, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	name := "kv_examples_" + strings.ToLower(rand.Text())
	if _, err := admin.Exec(ctx, "create database "+name); err != nil {
		return nil, errors.Join(err, admin.Close(ctx))
	}
	drop = func() error {
		if pool != nil {
			pool.Close()
		}
		_, err := admin.Exec(ctx, "drop database "+name+" with (force)")
		return errors.Join(err, admin.Close(ctx))
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return drop, err
	}
	config.ConnConfig.Database = name
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return drop, err
	}
	err = queenkv.Install(ctx, conn, nil)
	if err == nil {
		_, err = conn.Exec(ctx, `create table ledger (account text not null, cents bigint not null);
			create table users (id text primary key);
			create table accounts (id text primary key, cents bigint not null check (cents >= 0));
			insert into accounts values ('ada', 100), ('bob', 0)`)
	}
	if err = errors.Join(err, conn.Close(context.Background())); err != nil {
		return drop, err
	}
	pool, err = pgxpool.NewWithConfig(ctx, config)
	return drop, err
}
