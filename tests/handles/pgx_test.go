package handles

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// pgxHandles are those of pgx, in each of the modes: Pool/cache_statement and so on.
func pgxHandles(modes ...pgx.QueryExecMode) []maker {
	var all []maker
	for _, mode := range modes {
		all = append(all,
			maker{"Tx/" + name(mode), func(t *testing.T, at target) *handle {
				pool := openPool(t, at, mode)
				tx := must[pgx.Tx](t)(pool.Begin(t.Context()))
				t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
				return &handle{DB: tx, begin: beginner(pool), isTx: true}
			}},
			maker{"savepoint/" + name(mode), func(t *testing.T, at target) *handle {
				pool := openPool(t, at, mode)
				inner := func(ctx context.Context) (kvpg.Tx, error) { return beginNested(ctx, pool) }
				tx := must[kvpg.Tx](t)(inner(t.Context()))
				t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
				return &handle{DB: tx, begin: inner, isTx: true}
			}},
			maker{"Conn/" + name(mode), func(t *testing.T, at target) *handle {
				conn := must[*pgx.Conn](t)(pgx.ConnectConfig(t.Context(), connConfig(t, at, mode)))
				t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
				return &handle{DB: conn, begin: beginner(conn)}
			}},
			maker{"Pool/" + name(mode), func(t *testing.T, at target) *handle {
				pool := openPool(t, at, mode)
				return &handle{DB: pool, begin: beginner(pool)}
			}})
	}
	return all
}

// name is the mode's, without the blanks that a pattern of go test would have to mask.
func name(mode pgx.QueryExecMode) string {
	return map[pgx.QueryExecMode]string{
		pgx.QueryExecModeCacheStatement: "cache_statement", pgx.QueryExecModeCacheDescribe: "cache_describe",
		pgx.QueryExecModeDescribeExec: "describe_exec", pgx.QueryExecModeExec: "exec", pgx.QueryExecModeSimpleProtocol: "simple_protocol",
	}[mode]
}

// nested is a savepoint that is the only thing in its transaction.
type nested struct {
	pgx.Tx
	outer pgx.Tx
}

func beginNested(ctx context.Context, pool *pgxpool.Pool) (kvpg.Tx, error) {
	outer, err := pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := outer.Begin(ctx)
	if err != nil {
		return nil, errors.Join(err, outer.Rollback(ctx))
	}
	return nested{inner, outer}, nil
}

func (n nested) Commit(ctx context.Context) error {
	if err := n.Tx.Commit(ctx); err != nil {
		return errors.Join(err, n.outer.Rollback(ctx))
	}
	return n.outer.Commit(ctx)
}

func (n nested) Rollback(ctx context.Context) error {
	return errors.Join(n.Tx.Rollback(ctx), n.outer.Rollback(ctx))
}

func connConfig(t *testing.T, at target, mode pgx.QueryExecMode) *pgx.ConnConfig {
	t.Helper()
	config := must[*pgx.ConnConfig](t)(pgx.ParseConfig(at.url))
	config.DefaultQueryExecMode = mode
	for name, value := range at.settings {
		config.RuntimeParams[name] = value
	}
	return config
}

func openPool(t *testing.T, at target, mode pgx.QueryExecMode) *pgxpool.Pool {
	t.Helper()
	config := must[*pgxpool.Config](t)(pgxpool.ParseConfig(at.url))
	config.ConnConfig = connConfig(t, at, mode)
	config.MaxConns = 4
	pool := must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(t.Context(), config))
	t.Cleanup(pool.Close)
	return pool
}
