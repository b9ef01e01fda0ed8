package handles

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"

	"github.com/queenkv/queenkv/kvpg"
)

// stdlibHandles are those of database/sql with pgx, in each of the modes: sql.DB/stdlib_cache_statement and so on.
func stdlibHandles(modes ...pgx.QueryExecMode) []maker {
	var all []maker
	for _, mode := range modes {
		all = append(all, sqlHandles("stdlib_"+name(mode), func(t *testing.T, at target) *sql.DB {
			return stdlib.OpenDB(*connConfig(t, at, mode))
		})...)
	}
	return all
}

// pqHandles are those of database/sql with lib/pq, with or without its binary_parameters, which is also its way to send a call in
// one round trip.
func pqHandles(binaryParameters bool) []maker {
	how := "pq"
	if binaryParameters {
		how = "pq_binary_parameters"
	}
	return sqlHandles(how, func(t *testing.T, at target) *sql.DB {
		return sql.OpenDB(pqConnector(t, at, binaryParameters))
	})
}

func pqConnector(t *testing.T, at target, binaryParameters bool) *pq.Connector {
	t.Helper()
	config := must[pq.Config](t)(pq.NewConfig(at.url))
	config.BinaryParameters = binaryParameters
	if config.Runtime == nil {
		config.Runtime = map[string]string{}
	}
	for name, value := range at.settings {
		if name != "DateStyle" { // lib/pq wants its own
			config.Runtime[name] = value
		}
	}
	return must[*pq.Connector](t)(pq.NewConnectorConfig(config))
}

func sqlHandles(how string, open func(t *testing.T, at target) *sql.DB) []maker {
	opened := func(t *testing.T, at target) *sql.DB {
		db := open(t, at)
		t.Cleanup(func() { db.Close() })
		return db
	}
	return []maker{
		{"sql.DB/" + how, func(t *testing.T, at target) *handle {
			db := kvpg.FromSQL(opened(t, at))
			return &handle{DB: db, begin: beginner(db)}
		}},
		{"sql.Conn/" + how, func(t *testing.T, at target) *handle {
			conn := must[*sql.Conn](t)(opened(t, at).Conn(t.Context()))
			t.Cleanup(func() { _ = conn.Close() })
			db := kvpg.FromSQL(conn)
			return &handle{DB: db, begin: beginner(db)}
		}},
		{"sql.Tx/" + how, func(t *testing.T, at target) *handle {
			db := opened(t, at)
			tx := must[*sql.Tx](t)(db.BeginTx(context.WithoutCancel(t.Context()), nil))
			t.Cleanup(func() { _ = tx.Rollback() })
			return &handle{DB: kvpg.FromSQLTx(tx), begin: beginner(kvpg.FromSQL(db)), isTx: true}
		}},
	}
}
