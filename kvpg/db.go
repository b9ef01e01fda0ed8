package kvpg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is what an operation needs of the caller's handle: one query that gives one row. pgx.Tx, *pgx.Conn and
// *pgxpool.Pool have it as they are; for handles of database/sql see [FromSQL] and [FromSQLTx].
//
// On a transaction the operation is part of that transaction. On a connection or a pool it is a transaction of its own,
// committed when the call returns without an error.
type DB interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Tx is what [Once] needs and [RunTx] gives: a transaction. pgx.Tx has it, and [FromSQLTx] makes one of a *sql.Tx; a pool or a connection,
// which would commit the marker and the effect apart, does not fit by type.
//
// The operations never commit; RunTx does. One rolls back, in one case alone, which [Once] tells.
type Tx interface {
	DB
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Beginner is what begins transactions: *pgxpool.Pool and *pgx.Conn have it as they are, [FromSQL] gives one over
// database/sql, and a [BeginFunc] is one that begins them with options.
type Beginner[T Tx] interface {
	Begin(ctx context.Context) (T, error)
}

// BeginFunc is a function as a [Beginner], for transactions that need options:
//
//	serializable := kvpg.BeginFunc[pgx.Tx](func(ctx context.Context) (pgx.Tx, error) {
//		return pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
//	})
type BeginFunc[T Tx] func(ctx context.Context) (T, error)

// Begin calls f.
func (f BeginFunc[T]) Begin(ctx context.Context) (T, error) { return f(ctx) }
