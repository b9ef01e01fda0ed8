package queenkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// exclusively runs do while conn holds the lock that excludes every other way to install. tern
// takes the same lock, which a session may take more than once.
func exclusively(ctx context.Context, conn *pgx.Conn, what string, do func() error) (err error) {
	if s := conn.PgConn().TxStatus(); s != 'I' {
		return fmt.Errorf("queenkv: %s: the connection has an open transaction; use one without", what)
	}
	if e := conn.PgConn().ParameterStatus("server_encoding"); e != "UTF8" {
		return fmt.Errorf("queenkv: %s: the database's encoding is %s and must be UTF8; make one with "+
			"CREATE DATABASE name TEMPLATE template0 ENCODING 'UTF8'", what, e)
	}
	defer func() {
		if ctx.Err() != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = conn.Close(closing)
		}
		if err != nil {
			err = fmt.Errorf("queenkv: %s: %w", what, withRemedy(err))
		}
	}()
	if _, err := conn.Exec(ctx, "select pg_catalog.pg_advisory_lock($1)", installLock); err != nil {
		return err
	}
	err = do()
	if ctx.Err() != nil || conn.IsClosed() {
		return err // and closing the connection frees the lock
	}
	_, unlockErr := conn.Exec(ctx, "select pg_catalog.pg_advisory_unlock($1)", installLock)
	return errors.Join(err, unlockErr)
}

// installLock is the number of tern's advisory lock; dist/queen_kv.sql takes the same.
const installLock int64 = 9628173550095224

// refuseNewer keeps an old program from putting its functions over a later release's.
func refuseNewer(ctx context.Context, conn *pgx.Conn) error {
	var there bool
	err := conn.QueryRow(ctx, "select pg_catalog.to_regprocedure('queen.kv_schema_version_v1()') is not null").Scan(&there)
	if err != nil || !there {
		return err
	}
	var version int
	if err := conn.QueryRow(ctx, "select queen.kv_schema_version_v1()").Scan(&version); err != nil {
		return err
	}
	if version > SchemaVersion {
		return ErrNewerSchema
	}
	return nil
}

// ensureSchema makes the schema for the version table. It looks first: CREATE SCHEMA IF NOT
// EXISTS asks for CREATE on the database even where the schema is there.
func ensureSchema(ctx context.Context, conn *pgx.Conn) error {
	var there bool
	err := conn.QueryRow(ctx, "select pg_catalog.to_regnamespace('queen') is not null").Scan(&there)
	if err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, "create schema queen")
	return err
}
