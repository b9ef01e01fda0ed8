// Package scratch makes a database for a demo or a test of the examples, and drops it again.
package scratch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
)

// A Database holds queen.kv's schema, or nothing when it was made empty.
type Database struct {
	URL string

	name, maintenance string
}

// dropLimit bounds Drop, which has to work when the caller's context has ended.
const dropLimit = 30 * time.Second

// New makes a database with the schema on the server of maintenance, a connection string of a role with CREATEDB.
func New(ctx context.Context, maintenance string) (*Database, error) {
	db, err := Empty(ctx, maintenance)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, db.URL)
	if err == nil {
		err = errors.Join(queenkv.Install(ctx, conn, nil), conn.Close(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return nil, errors.Join(err, db.Drop())
	}
	return db, nil
}

// Empty makes a database without the schema.
func Empty(ctx context.Context, maintenance string) (*Database, error) {
	db := &Database{name: "kv_example_" + strings.ToLower(rand.Text()), maintenance: maintenance}
	db.URL = withDatabase(maintenance, db.name)
	if err := db.exec(ctx, "create database "+db.name+" template template0 encoding 'UTF8'"); err != nil {
		return nil, errors.Join(err, db.Drop()) // cancelled, it may be there all the same
	}
	return db, nil
}

// withDatabase changes the database of a connection string, in either of its forms.
func withDatabase(connString, name string) string {
	if u, err := url.Parse(connString); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		u.Path = "/" + name
		return u.String()
	}
	return connString + " dbname=" + name // keywords and values: the last of a name counts
}

// Drop drops the database, and ends the connections that are left.
func (db *Database) Drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), dropLimit)
	defer cancel()
	return db.exec(ctx, "drop database if exists "+db.name+" with (force)")
}

func (db *Database) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, db.maintenance)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}
