package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/sweeper"
)

// collationVersion compares what the database's objects were made with and what the system has now. The keys of queen.kv are
// compared by their bytes, and are safe; other indexes of the database are not.
func collationVersion(ctx context.Context, tx pgx.Tx, _ *doctorCommand) (answer, error) {
	var major int
	if err := tx.QueryRow(ctx, "select current_setting('server_version_num')::integer / 10000").Scan(&major); err != nil {
		return answer{}, err
	}
	sql := `select l.collname || ': made with ' || l.collversion || ', now ' || coalesce(pg_collation_actual_version(l.oid), 'none')
		from pg_collation as l where l.collversion is distinct from pg_collation_actual_version(l.oid) and l.collversion is not null`
	if major >= 15 { // a database has a version since then
		sql += ` union all select 'the database: made with ' || d.datcollversion || ', now ' || coalesce(pg_database_collation_actual_version(d.oid), 'none')
			from pg_database as d where d.datname = current_database() and d.datcollversion is not null
				and d.datcollversion is distinct from pg_database_collation_actual_version(d.oid)`
	}
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return answer{}, err
	}
	stale, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return answer{}, err
	}
	if len(stale) == 0 {
		return answer{Level: levelOK, Number: 0, What: "collations are of the version that the database was made with"}, nil
	}
	shown := stale[:min(3, len(stale))]
	return answer{
		Level: levelProblem, Number: len(stale), What: fmt.Sprintf("%d collations changed: %s", len(stale), strings.Join(shown, "; ")),
		Why: "text sorts differently than when indexes were built, so that they miss rows and let doubles in; queen.kv's own keys are " +
			"compared by their bytes, and are not touched by it",
		Do: "reindex database, then alter database ... refresh collation version",
	}, nil
}

// unprunedRows counts as the sweeper does, up to a bound.
func unprunedRows(ctx context.Context, tx pgx.Tx, c *doctorCommand) (answer, error) {
	b, err := sweeper.BacklogIn(ctx, tx, 100_000)
	if err != nil {
		return answer{}, err
	}
	a := answer{Level: levelOK, Number: b.Rows, What: fmt.Sprintf("%s expired rows wait, the oldest for %s",
		atLeast(b.Rows, b.Capped), b.Lag.Round(time.Millisecond))}
	if b.Rows == 0 {
		a.What = "no expired row waits"
	}
	if b.Lag > c.MaxLag {
		a.Level = levelProblem
		a.Why = "no sweeper runs, or it can't keep up: the table grows; answers are right all the same"
		a.Do = "is kv-sweeper running, and what do its log and kv_sweeper_errors_total say? kv-sweeper once drains by hand"
	}
	return a, nil
}

// oldestSnapshot looks for who keeps vacuum from removing dead rows. Sessions of other roles are hidden from a role without
// pg_read_all_stats.
func oldestSnapshot(ctx context.Context, tx pgx.Tx, c *doctorCommand) (answer, error) {
	const sql = `
		select h.who, h.seconds, (select count(*) from pg_stat_activity as a where a.datname = current_database() and a.state is null
				and a.backend_type is null and a.pid <> pg_backend_pid())
		from (
			select 'the session ' || a.pid || ' of ' || coalesce(a.usename, '?') || ' (' || coalesce(nullif(a.application_name, ''), 'unnamed')
					|| ', ' || coalesce(a.state, '?') || ')' as who,
				extract(epoch from clock_timestamp() - a.xact_start)::double precision as seconds
			from pg_stat_activity as a
			where a.pid <> pg_backend_pid() and a.xact_start is not null and (a.backend_xmin is not null or a.backend_xid is not null)
				and (a.datname = current_database() or a.datname is null)
			union all
			select 'the prepared transaction ' || p.gid, extract(epoch from clock_timestamp() - p.prepared)
			from pg_prepared_xacts as p where p.database = current_database()
			union all
			select 'nobody', 0
		) as h
		order by h.seconds desc limit 1`
	var who string
	var seconds float64
	var unseen int64
	if err := tx.QueryRow(ctx, sql).Scan(&who, &seconds, &unseen); err != nil {
		return answer{}, err
	}
	var slots []string
	err := tx.QueryRow(ctx, `select array(select s.slot_name::text from pg_replication_slots as s
		where not s.active and (s.xmin is not null or s.catalog_xmin is not null) order by 1)`).Scan(&slots)
	if err != nil {
		return answer{}, err
	}
	age := time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	a := answer{Level: levelOK, Number: seconds, What: fmt.Sprintf("the oldest snapshot is %s old: %s", age, who)}
	const why = "dead rows that it might see stay, in the table and at the head of the sweeper's index ranges; everything slows down"
	switch {
	case age > c.MaxSnapshotAge:
		a.Level, a.Why = levelProblem, why
		a.Do = "end it (select pg_terminate_backend(pid), or rollback prepared), and set idle_in_transaction_session_timeout for its role"
	case len(slots) > 0:
		a.Level, a.Why = levelProblem, why
		a.What = "replication slots that nobody reads hold back vacuum: " + strings.Join(slots, ", ")
		a.Do = "let the replica read again, or select pg_drop_replication_slot('name')"
	case unseen > 0:
		a.Level = levelUnknown
		a.What = fmt.Sprintf("%d sessions of other roles can't be seen; of the others %s", unseen, a.What)
		a.Do = "grant pg_read_all_stats to the role, or run this check as one that has it"
	}
	return a, nil
}

func deadRows(ctx context.Context, tx pgx.Tx, c *doctorCommand) (answer, error) {
	var live, dead int64
	var last *time.Time
	err := tx.QueryRow(ctx, `select n_live_tup, n_dead_tup, greatest(last_autovacuum, last_vacuum) from pg_stat_all_tables where relid = 'queen.kv'::regclass`).
		Scan(&live, &dead, &last)
	if err != nil {
		return answer{}, err
	}
	ratio := float64(dead) / max(1, float64(live+dead))
	a := answer{Level: levelOK, Number: dead, What: fmt.Sprintf("%d dead rows beside %d live ones (%.0f %%); last vacuum: %s", dead, live, 100*ratio, when(last))}
	if dead >= 10_000 && ratio > c.MaxDeadRatio {
		a.Level = levelProblem
		a.Why = "the table and its indexes grow, and every scan of a range walks over the dead rows in it"
		a.Do = "see oldest_snapshot; if nobody holds vacuum back: vacuum queen.kv, and look at autovacuum's workers and cost limits"
	}
	return a, nil
}

// hotUpdates is a note at most: an update that moves an expiry is never HOT, since expires_at is indexed.
func hotUpdates(ctx context.Context, tx pgx.Tx, c *doctorCommand) (answer, error) {
	var all, hot int64
	err := tx.QueryRow(ctx, `select n_tup_upd, n_tup_hot_upd from pg_stat_all_tables where relid = 'queen.kv'::regclass`).Scan(&all, &hot)
	if err != nil {
		return answer{}, err
	}
	ratio := float64(hot) / max(1, float64(all))
	a := answer{Level: levelOK, Number: ratio, What: fmt.Sprintf("%d of %d updates were HOT (%.0f %%)", hot, all, 100*ratio)}
	if all >= 10_000 && ratio < c.MinHOTRatio {
		a.Level = levelNote
		a.Why = "an update that is not HOT writes to each index; those that set another expiry can't be HOT, the others can where pages have room"
		a.Do = "if most writes are to forever keys, or increments of live counters: a lower fillfactor, alter table queen.kv set (fillfactor = 80)"
	}
	return a, nil
}

func usageAge(ctx context.Context, tx pgx.Tx, c *doctorCommand) (answer, error) {
	var quotas, stale int64
	err := tx.QueryRow(ctx, `select count(*), count(*) filter (where q.computed_at is null or clock_timestamp() - q.computed_at > make_interval(secs => $1::text::double precision))
		from queen.kv_quota_refresh_v1() as q`, fmt.Sprint(c.MaxUsageAge.Seconds())).Scan(&quotas, &stale)
	if err != nil {
		return answer{}, err
	}
	a := answer{Level: levelOK, Number: stale, What: fmt.Sprintf("%d tenants have a quota, and each was measured", quotas)}
	if quotas == 0 {
		a.What = "no tenant has a quota"
	}
	if stale > 0 {
		a.Level = levelProblem
		a.What = fmt.Sprintf("%d of %d tenants with a quota were not measured for more than %s", stale, quotas, c.MaxUsageAge)
		a.Why = "their quotas are compared with what they stored then"
		a.Do = "is kv-sweeper running, with --usage-every above 0? kv-sweeper once measures by hand"
	}
	return a, nil
}
