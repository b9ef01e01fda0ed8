package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/cluster"
)

// A request is what the command line asks for.
type request struct {
	bin      string // the folder of the binaries to use; empty: whatever there is
	image    string
	durable  bool
	settings map[string]string
}

// A database is one that was acquired.
type database struct {
	url    string
	bin    string // a folder of binaries; empty: there are none
	close  func() error
	notRun notRun
}

// environ is the command's environment.
func (db *database) environ() []string {
	return append(os.Environ(),
		"KV_TEST_DATABASE_URL="+db.url, "KV_TEST_POSTGRES_BIN="+db.bin, "KV_TEST_NOT_RUN="+string(db.notRun))
}

// acquire goes through the ways of getting a database in their order.
func (r request) acquire(ctx context.Context) (db *database, err error) {
	switch url := os.Getenv("KV_TEST_DATABASE_URL"); {
	case url != "":
		db, err = given(ctx, url)
	case r.bin != "":
		db, err = r.fromFolder(ctx)
	default:
		db, err = r.fromMachine(ctx)
	}
	if err != nil {
		return nil, err
	}
	db.bin = binariesFor(db.bin)
	if r.bin != "" {
		db.bin = r.bin
	}
	db.notRun, err = newNotRun()
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// given checks that the database somebody named can be used, before a hundred tests fail.
func given(ctx context.Context, url string) (*database, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("KV_TEST_DATABASE_URL is set and the database doesn't answer: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version string
	var major int
	var able bool
	err = conn.QueryRow(ctx, `select current_setting('server_version'), current_setting('server_version_num')::int / 10000,
		rolsuper or (rolcreatedb and rolcreaterole) from pg_roles where rolname = current_user`).Scan(&version, &major, &able)
	switch {
	case err != nil:
		return nil, fmt.Errorf("KV_TEST_DATABASE_URL: %w", err)
	case major < cluster.Oldest:
		return nil, fmt.Errorf("KV_TEST_DATABASE_URL: PostgreSQL %s is older than %d", version, cluster.Oldest)
	case !able:
		return nil, errors.New("KV_TEST_DATABASE_URL: its role needs CREATEDB and CREATEROLE: every test makes a database of its own")
	}
	say("using KV_TEST_DATABASE_URL, PostgreSQL %s on %s", version, conn.Config().Host)
	return &database{url: url, close: func() error { return nil }}, nil
}

// fromFolder starts a cluster from the binaries that were asked for, or fails.
func (r request) fromFolder(ctx context.Context) (*database, error) {
	b, err := cluster.In(r.bin)
	if err != nil {
		return nil, fmt.Errorf("the folder given by -pg-bin or KV_TEST_POSTGRES_BIN: %w", err)
	}
	return r.fromBinaries(ctx, b)
}

// fromMachine takes what this machine offers: Docker, binaries, or what apt-get can install.
func (r request) fromMachine(ctx context.Context) (*database, error) {
	db, err := r.fromDocker(ctx)
	if err == nil || ctx.Err() != nil {
		return db, err
	}
	say("not Docker: %v", err)
	b, err := cluster.Find()
	if err != nil {
		say("%v", err)
		if err = installPostgres(ctx); err == nil {
			b, err = cluster.Find()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("no database: %w.\nDo one of these: set KV_TEST_DATABASE_URL to a database whose role has CREATEDB and CREATEROLE; "+
			"start Docker; install PostgreSQL %d or newer; set KV_TEST_POSTGRES_BIN to the folder of its binaries", err, cluster.Oldest)
	}
	return r.fromBinaries(ctx, b)
}

func (r request) fromBinaries(ctx context.Context, b cluster.Binaries) (*database, error) {
	c, err := cluster.Start(ctx, b, &cluster.Options{Durable: r.durable, Settings: r.settings})
	if err != nil {
		return nil, err
	}
	say("using a throwaway cluster of %v, in %s", b, c.Dir)
	return &database{url: c.URL(), bin: b.Dir, close: c.Stop}, nil
}
