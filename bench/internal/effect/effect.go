// Package effect is one transaction that inserts a row, three ways: alone, with a marker table by hand around the row, and with
// kvpg.Once around it. The benchmarks compare them.
package effect

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

// Tables are the statements that make what the three write into, beside queen.kv.
var Tables = []string{
	`create table bench.effect (id bigint generated always as identity primary key, key text not null, cents bigint not null)`,
	`create table bench.marker (key text primary key, result bytea, expires_at timestamptz not null)`,
}

// Markers is the namespace of Once.
var Markers = kvpg.NewNamespace("once")

// Beginner is a connection, a pool or a transaction.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Run is one transaction for a key; replayed tells that the key was done before, and the row not inserted again.
type Run func(ctx context.Context, db Beginner, key string) (replayed bool, err error)

// Alone inserts the row, whether or not the key was seen.
func Alone(ctx context.Context, db Beginner, key string) (bool, error) {
	return false, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return Insert(ctx, tx, key) })
}

// Marked is the usual idempotency table: claim the key, insert the row, store the answer. A duplicate finds the key taken, after it
// has waited for its owner, and reads the answer.
func Marked(ctx context.Context, db Beginner, key string) (replayed bool, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		claimed, err := tx.Exec(ctx,
			`insert into bench.marker (key, expires_at) values ($1, now() + interval '5 hours') on conflict do nothing`, key)
		if err != nil {
			return err
		}
		if claimed.RowsAffected() != 1 {
			replayed = true
			var answer []byte
			return tx.QueryRow(ctx, `select result from bench.marker where key = $1 and expires_at > now()`, key).Scan(&answer)
		}
		if err := Insert(ctx, tx, key); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update bench.marker set result = $2 where key = $1`, key, []byte("booked"))
		return err
	})
	return replayed, err
}

// Once is kvpg.Once around the row.
func Once(ctx context.Context, db Beginner, key string) (replayed bool, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		r, err := kvpg.Once(ctx, tx, Markers, key, 5*time.Hour, func(ctx context.Context) ([]byte, error) {
			return []byte("booked"), Insert(ctx, tx, key)
		}, nil)
		if err == nil && string(r.Result) != "booked" {
			err = errors.New("Once gave another answer than the first one")
		}
		replayed = r.Replayed
		return err
	})
	return replayed, err
}

// Insert writes the row, which nothing keeps from being there twice.
func Insert(ctx context.Context, tx pgx.Tx, key string) error {
	_, err := tx.Exec(ctx, `insert into bench.effect (key, cents) values ($1, $2)`, key, 1250)
	return err
}
