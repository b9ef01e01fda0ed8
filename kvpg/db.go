package kvpg

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// DB is what an operation needs of the caller's handle: one query that gives one row. pgx.Tx, *pgx.Conn and
// *pgxpool.Pool have it as they are.
//
// On a transaction the operation is part of that transaction. On a connection or a pool it is a transaction of its own,
// committed when the call returns without an error.
type DB interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Tx is what [Once] needs: a transaction. pgx.Tx has it; a pool or a connection, which would commit the marker and the
// effect apart, does not fit by type.
//
// The driver never commits. It rolls back in one case alone, which [Once] tells.
type Tx interface {
	DB
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}
