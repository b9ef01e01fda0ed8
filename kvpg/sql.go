package kvpg

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLHandle is what [FromSQL] adapts: *sql.DB and *sql.Conn have it.
type SQLHandle interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// SQLDB is a *sql.DB or a *sql.Conn as a [DB] and a [Beginner]; [FromSQL] makes it.
type SQLDB struct {
	handle SQLHandle
}

// FromSQL adapts a *sql.DB or a *sql.Conn, of whatever PostgreSQL driver:
//
//	v, err := kvpg.Put(ctx, kvpg.FromSQL(db), settings, "theme", "dark", kvpg.Forever(), nil)
func FromSQL(handle SQLHandle) SQLDB { return SQLDB{handle} }

// QueryRow calls QueryRowContext.
func (db SQLDB) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return db.handle.QueryRowContext(ctx, query, args...)
}

// Begin begins a transaction with the driver's default options. database/sql rolls it back when ctx ends.
func (db SQLDB) Begin(ctx context.Context) (SQLTx, error) {
	tx, err := db.handle.BeginTx(ctx, nil)
	return FromSQLTx(tx), err
}

// SQLTx is a *sql.Tx as a [Tx]; [FromSQLTx] makes it. The methods named ...Context are those of the *sql.Tx.
type SQLTx struct {
	*sql.Tx
}

// FromSQLTx adapts a *sql.Tx, of whatever PostgreSQL driver:
//
//	v, err := kvpg.Put(ctx, kvpg.FromSQLTx(tx), settings, "theme", "dark", kvpg.Forever(), nil)
func FromSQLTx(tx *sql.Tx) SQLTx { return SQLTx{tx} }

// QueryRow calls QueryRowContext.
func (tx SQLTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return tx.QueryRowContext(ctx, query, args...)
}

// Exec calls ExecContext. The tag is always empty: database/sql does not tell it.
func (tx SQLTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	_, err := tx.ExecContext(ctx, query, args...)
	return pgconn.CommandTag{}, err
}

// Commit commits; database/sql takes no context here.
func (tx SQLTx) Commit(context.Context) error { return tx.Tx.Commit() }

// Rollback rolls back; database/sql takes no context here.
func (tx SQLTx) Rollback(context.Context) error { return tx.Tx.Rollback() }
