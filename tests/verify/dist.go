// Package verify knows what is generated from sql/, dist/queen_kv.sql and the migrations'
// snapshots, and its tests check that they are what sql/ makes, that released migrations are
// as they were released, and that every way to install leads to the same database.
package verify

import (
	"github.com/queenkv/queenkv"
)

// DistPath is the one-file install, below the repository's root.
const DistPath = "dist/queen_kv.sql"

// The lock is tern's, so that this file, Install, Migrate and tern's command line exclude each
// other. READ COMMITTED, whatever the session's default: a snapshot that is older than the end
// of the wait for the lock would not show what the other one installed.
const distHead = `-- queen.kv: the whole schema as one file. Generated from sql/ by "make dist"; do not edit.
--
--     psql -v ON_ERROR_STOP=1 -f queen_kv.sql
--
-- Plain SQL, without psql's own commands, for any client that can send several statements. It is
-- one transaction: after an error nothing is there, or what was there before (ON_ERROR_STOP gives
-- psql the exit status that says so). It can be run again, over live data too, and by several
-- at once. It needs PostgreSQL 14 or newer, a UTF8 database, and a role that has CREATE on it.
begin isolation level read committed read write;
do $$ begin perform pg_catalog.pg_advisory_xact_lock(9628173550095224); end $$;

`

// Dist returns what DistPath must hold.
func Dist() (string, error) {
	sql, err := queenkv.SQL(nil)
	if err != nil {
		return "", err
	}
	return distHead + sql + "\ncommit;\n", nil
}
