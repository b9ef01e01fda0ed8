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

// New makes a database with the schema on the server of maintenance, a postgres:// URL of a role with CREATEDB.
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
	u, err := url.Parse(maintenance)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("KV_TEST_DATABASE_URL: a postgres:// URL is needed")
	}
	db := &Database{name: "kv_example_" + strings.ToLower(rand.Text()), maintenance: maintenance}
	u.Path = "/" + db.name
	db.URL = u.String()
	if err := db.exec(ctx, "create database "+db.name+" template template0 encoding 'UTF8'"); err != nil {
		return nil, errors.Join(err, db.Drop()) // cancelled, it may be there all the same
	}
	return db, nil
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
