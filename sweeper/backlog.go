package sweeper

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Backlog is what waits to be deleted.
type Backlog struct {
	Rows   int64         // those that others hold count too
	Capped bool          // there are more: the count ended at its bound
	Lag    time.Duration // how long ago the oldest expired; 0: there is none
}

// The range of each shard, in the order of the index, as a step walks it.
const backlogSQL = `
with now as materialized (
	select clock_timestamp() as now
), oldest as materialized (
	select s.shard::smallint as shard, o.expires_at
	from now as n cross join generate_series(0, 63) as s (shard) cross join lateral (
		select kv.expires_at from queen.kv
		where kv.shard = s.shard::smallint and not queen.kv_live_v1(kv.expires_at, n.now)
		order by kv.expires_at
		limit 1) as o
), expired as materialized (
	select from now as n cross join oldest as o cross join lateral (
		select from queen.kv
		where kv.shard = o.shard and kv.expires_at >= o.expires_at and not queen.kv_live_v1(kv.expires_at, n.now)
		order by kv.expires_at) as e
	limit $1::text::bigint + 1
)
select (select count(*) from expired),
	coalesce((select floor(extract(epoch from n.now - min(o.expires_at)) * 1000) from oldest as o), 0)::bigint
from now as n`

// Backlog counts expired rows, at most atMost of them and at least one, and deletes nothing.
func (s *Sweeper) Backlog(ctx context.Context, atMost int64) (b Backlog, err error) {
	if s.fault != nil {
		return Backlog{}, s.fault
	}
	ctx, cancel := s.stepContext(ctx)
	defer cancel()
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		b, err = BacklogIn(ctx, tx, atMost)
		return err
	})
	return b, errorOf("look", err)
}

// BacklogIn counts in the caller's transaction. Until that ends, settings of the planner are changed in it.
func BacklogIn(ctx context.Context, tx pgx.Tx, atMost int64) (Backlog, error) {
	atMost = min(max(1, atMost), math.MaxInt64-1) // the statement looks for one more
	// From old statistics the planner would read the whole table.
	const settings = "select set_config(n, 'off', true) from unnest('{enable_seqscan,enable_bitmapscan,enable_sort,jit}'::text[]) as n"
	if _, err := tx.Exec(ctx, settings); err != nil {
		return Backlog{}, errorOf("look", err)
	}
	var rows, lagMs int64
	if err := tx.QueryRow(ctx, backlogSQL, strconv.FormatInt(atMost, 10)).Scan(&rows, &lagMs); err != nil {
		return Backlog{}, errorOf("look", err)
	}
	return Backlog{Rows: min(rows, atMost), Capped: rows > atMost, Lag: time.Duration(lagMs) * time.Millisecond}, nil
}
