package testdb

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Role makes a role that can log in and may do nothing else, with a name of its own, and drops
// it after the database. Roles belong to a whole server: tests must not share names.
func (db *DB) Role(t testing.TB) string {
	t.Helper()
	name, password := "kv_role_"+strings.ToLower(rand.Text()), rand.Text()
	db.mu.Lock()
	db.passwords[name] = password
	db.mu.Unlock()
	// Granted to us, so that we may end its sessions when we are no superuser.
	sql := fmt.Sprintf("create role %[1]s login password '%[2]s'; grant %[1]s to current_user", name, password)
	if _, err := db.admin.Exec(t.Context(), sql); err != nil {
		t.Fatalf("testdb: create role: %v", err)
	}
	return name
}

// URLAs is the connection string of a role that [DB.Role] made.
func (db *DB) URLAs(t testing.TB, role string) string {
	t.Helper()
	db.mu.Lock()
	defer db.mu.Unlock()
	password, ok := db.passwords[role]
	if !ok {
		t.Fatalf("testdb: %s is no role of this database", role)
	}
	return withUser(db.URL(), role, password)
}

// PoolAs is a pool of connections logged in as the role, closed at the end of t.
func (db *DB) PoolAs(t testing.TB, role string, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	return pool(t, db.URLAs(t, role), configure)
}

// ConnAs is a connection logged in as the role, closed at the end of t.
func (db *DB) ConnAs(t testing.TB, role string, configure ...func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	return conn(t, db.URLAs(t, role), configure)
}

// dropRoles comes after the database is gone, and with it all that the roles owned there.
func (db *DB) dropRoles(ctx context.Context, t testing.TB) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for role := range db.passwords {
		if _, err := db.admin.Exec(ctx, "drop role if exists "+role); err != nil {
			t.Errorf("testdb: drop role: %v", err)
		}
	}
}
