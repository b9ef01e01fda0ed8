package quota_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/quota"
)

var sessions = kvpg.NewNamespace("sessions")

// A tenant may store two rows. The third is refused and nothing is sent, so that the transaction commits what came before.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	pool, drop, err := openDatabase(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer drop()
	tenant := [16]byte{0: 7, 15: 1}
	if _, err := pool.Exec(ctx, `select queen.kv_quota_set_v1('07000000-0000-0000-0000-000000000001', 2, null)`); err != nil { // an operator does
		fmt.Println(err)
		return
	}

	q, err := quota.New(ctx, pool, &quota.Options{OnError: func(err error) { fmt.Println(err) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	go q.Run(ctx)

	theirs := sessions.For(tenant)
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, id := range []string{"a", "b", "c"} {
			_, err := q.Put(ctx, tx, theirs, id, map[string]string{"user": "ada"}, kvpg.TTL(time.Hour), nil)
			var over *quota.Error
			switch {
			case errors.As(err, &over):
				fmt.Printf("%s: %v\n", id, over)
			case err != nil:
				return err
			default:
				fmt.Printf("%s: stored\n", id)
			}
		}
		_, err := kvpg.Delete(ctx, tx, theirs, "a", nil) // never refused
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// a: stored
	// b: stored
	// c: kvpg/quota: tenant 07000000-0000-0000-0000-000000000001 is over its quota: 2 of 2 rows
}

// What other helpers of kvpg store is allowed before they run. A replay stores nothing.
func ExampleEnforcer_Allow() {
	ctx := context.Background()
	pool, drop, err := openDatabase(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer drop()
	q, err := quota.New(ctx, pool, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	charge := func(key string) error {
		grant, err := q.Allow(sessions, 1, 300)
		if err != nil {
			return err
		}
		r, err := kvpg.OnceTx(ctx, pool, sessions, key, time.Hour, func(context.Context, pgx.Tx) ([]byte, error) {
			return []byte("charged"), nil
		}, nil)
		if err == nil && r.Replayed {
			grant.GiveBack(1, 300)
		}
		fmt.Printf("%s, replayed: %v\n", r.Result, r.Replayed)
		return err
	}
	for range 2 {
		if err := charge("order 1"); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// charged, replayed: false
	// charged, replayed: true
}

// openDatabase makes a database for an example, with the schema of queen.kv.
func openDatabase(ctx context.Context) (pool *pgxpool.Pool, drop func(), err error) {
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
		ctx := context.WithoutCancel(ctx)
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
	pool, err = pgxpool.NewWithConfig(ctx, config)
	return pool, remove, err
}
