// Package testdb gives each test a database of its own.
//
// KV_TEST_DATABASE_URL names the maintenance database (see tests/with-postgres, which sets
// it); its role needs CREATEDB and CREATEROLE. A database is a copy of a template that holds
// the installed schema, which takes some tens of milliseconds. The template is named by the
// content of sql/ and stays on the server, so that it is built once for each state of sql/.
package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options choose the kind of a database; nil means the default kind.
type Options struct {
	// Empty leaves out the schema.
	Empty bool
	// ICU makes ICU's en-US the database's collation. PostgreSQL 14 has no such databases: the
	// default kind is given there, and [DB.ICU] says so; a column's collation is the way then.
	ICU bool
	// Encoding is that of an Empty database, UTF8 by default.
	Encoding string
	// Locale is that of an Empty database, as CREATE DATABASE takes it: "lc_collate 'C' lc_ctype 'C'".
	Locale string
}

// A DB is a database that lives as long as its test.
type DB struct {
	Name string
	// ICU tells whether ICU is the database's collation provider.
	ICU bool

	admin     *pgxpool.Pool
	mu        sync.Mutex
	passwords map[string]string // of the roles made for this database
}

// cleanupLimit bounds what is done on the maintenance database after a test.
const cleanupLimit = 30 * time.Second

// New makes a database, which is dropped with its roles when t and its subtests have ended.
// Connections that are still open then are ended, after some seconds.
func New(t testing.TB, opts *Options) *DB {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	admin := maintenance(t)
	ctx := t.Context()
	db := &DB{
		Name:      "kv_test_" + strings.ToLower(rand.Text()),
		ICU:       opts.ICU && ServerMajor(t) >= 15,
		admin:     admin,
		passwords: map[string]string{},
	}
	k := kind{icu: db.ICU, encoding: opts.Encoding, locale: opts.Locale}
	create := "create database " + db.Name + k.clause("template0")
	if !opts.Empty {
		template, err := k.template(ctx, admin)
		if err != nil {
			t.Fatalf("testdb: the template: %v", err)
		}
		create = "create database " + db.Name + " template " + template
	}
	if _, err := admin.Exec(ctx, create); err != nil {
		t.Fatalf("testdb: %s: %v", create, err)
	}
	t.Cleanup(func() { db.drop(t) })
	return db
}

func (db *DB) drop(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	// Not at once with force: that is refused to a role that is no superuser while autovacuum is
	// there, and without it the server waits five seconds for sessions that are about to end.
	_, err := db.admin.Exec(ctx, "drop database if exists "+db.Name)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "55006" { // object_in_use
		_, err = db.admin.Exec(ctx, "drop database if exists "+db.Name+" with (force)")
	}
	if err != nil {
		t.Errorf("testdb: drop: %v", err)
	}
	db.dropRoles(ctx, t)
}

// URL is the connection string of the maintenance role for this database.
func (db *DB) URL() string { return withDatabase(os.Getenv(urlVariable), db.Name) }

// Pool is a pool as the maintenance role, closed at the end of t.
func (db *DB) Pool(t testing.TB, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	return pool(t, db.URL(), configure)
}

// Conn is a connection as the maintenance role, closed at the end of t.
func (db *DB) Conn(t testing.TB, configure ...func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	return conn(t, db.URL(), configure)
}

// Exec executes statements as the maintenance role, on a connection of its own.
func (db *DB) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("testdb: %s: %v", sql, err)
	}
}

func pool(t testing.TB, url string, configure []func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	for _, f := range configure {
		f(cfg)
	}
	p, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Cleanup(p.Close)
	return p
}

func conn(t testing.TB, url string, configure []func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	for _, f := range configure {
		f(cfg)
	}
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
		defer cancel()
		_ = c.Close(ctx) // the test may have broken it on purpose
	})
	return c
}

// withDatabase changes the database of a connection string, in either of its forms.
func withDatabase(connString, name string) string {
	if u, ok := asURL(connString); ok {
		u.Path = "/" + name
		return u.String()
	}
	return connString + " dbname=" + name
}

// withUser changes the user of a connection string.
func withUser(connString, name, password string) string {
	if u, ok := asURL(connString); ok {
		u.User = url.UserPassword(name, password)
		return u.String()
	}
	return fmt.Sprintf("%s user=%s password=%s", connString, name, password)
}

func asURL(connString string) (*url.URL, bool) {
	if !strings.HasPrefix(connString, "postgres://") && !strings.HasPrefix(connString, "postgresql://") {
		return nil, false // keywords and values: the last one of a name counts
	}
	u, err := url.Parse(connString)
	return u, err == nil
}
