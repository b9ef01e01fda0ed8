package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// An op is the same work done by several contenders; the ratios are to the first one, which is by hand.
type op struct {
	name    string
	sides   []side
	reads   bool // it finds rows, and changes none
	loses   bool // it writes, and its precondition is false
	inserts bool // it makes new rows
}

// A side is a contender. call is one call with the worker's next arguments.
type side struct {
	name string
	call func(ctx context.Context, db db, w *worker) error
}

const (
	handName, applyName, typedName, driverName = "by hand", "apply", "typed", "kvpg"

	ttl       = 5 * time.Hour // longer than a run, so that no row that it needs expires
	tenantSQL = `'00000000-0000-0000-0000-000000000001'`
	applySQL  = `select queen.kv_apply_v1($1::jsonb)::text`
)

var rows = kvpg.NewNamespace("bench")

// apply calls kv_apply_v1 with an ops text made by hand, and leaves the answer as text.
func apply(ctx context.Context, db db, w *worker, ops string) error {
	return db.QueryRow(ctx, applySQL, ops).Scan(&w.answer)
}

// writeOp is the text of an op that writes one key; field is "value" or "delta".
func writeOp(op, key, field, value string) string {
	return `{"op":"` + op + `","ns":"bench","key":"` + key + `","ttlMs":18000000,"` + field + `":` + value + `}`
}

// The statement by hand reads time once, draws a version from the same sequence, starts a new lineage over an expired row, and returns
// what a caller can't know before.
const (
	insertSQL = `insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
		values (` + tenantSQL + `, $1, $2, $3::text::jsonb, nextval('queen.kv_version_seq'),
			statement_timestamp() + $4::float8 * interval '1 ms', statement_timestamp(), statement_timestamp()) `

	liveSQL    = `kv.expires_at is null or kv.expires_at > excluded.updated_at`
	lineageSQL = `created_at = case when ` + liveSQL + ` then kv.created_at else excluded.created_at end `

	overwriteSQL = `on conflict (tenant_id, namespace, key) do update set value = excluded.value, version = excluded.version,
		expires_at = excluded.expires_at, updated_at = excluded.updated_at, ` + lineageSQL
)

func ttlMillis() float64 { return float64(ttl.Milliseconds()) }

var put = op{name: "put", sides: []side{
	{handName, func(ctx context.Context, db db, w *worker) error {
		var version int64
		var expires time.Time
		const sql = insertSQL + overwriteSQL + `returning version, expires_at`
		return db.QueryRow(ctx, sql, "bench", w.key(), w.value(), ttlMillis()).Scan(&version, &expires)
	}},
	{applyName, func(ctx context.Context, db db, w *worker) error {
		return apply(ctx, db, w, "["+writeOp("put", w.key(), "value", w.value())+"]")
	}},
	{driverName, func(ctx context.Context, db db, w *worker) error {
		v, err := kvpg.Put(ctx, db, rows, w.key(), json.RawMessage(w.value()), kvpg.TTL(ttl), nil)
		return applied(v, true, err)
	}},
}}

var incr = op{name: "incr", sides: []side{
	{handName, func(ctx context.Context, db db, w *worker) error {
		const sql = insertSQL + `on conflict (tenant_id, namespace, key) do update set
			value = case when ` + liveSQL + ` then to_jsonb(kv.value::numeric + excluded.value::numeric) else excluded.value end,
			expires_at = case when ` + liveSQL + ` then kv.expires_at else excluded.expires_at end,
			version = excluded.version, updated_at = excluded.updated_at, ` + lineageSQL + `returning value::text, version, expires_at`
		var value string
		var version int64
		var expires time.Time
		return db.QueryRow(ctx, sql, "bench", w.counter(), "1", ttlMillis()).Scan(&value, &version, &expires)
	}},
	{applyName, func(ctx context.Context, db db, w *worker) error {
		return apply(ctx, db, w, "["+writeOp("incr", w.counter(), "delta", "1")+"]")
	}},
	{driverName, func(ctx context.Context, db db, w *worker) error {
		v, err := kvpg.Incr(ctx, db, rows, w.counter(), 1, kvpg.TTL(ttl), nil)
		return applied(v, true, err)
	}},
}}

// absent is putIfAbsent of a new key, or, in the cell's share of the calls, of one that is there; lost is always the latter.
var (
	absent = putIfAbsent("putIfAbsent", false)
	lost   = putIfAbsent("losing putIfAbsent", true)
)

func putIfAbsent(name string, loses bool) op {
	arguments := func(w *worker) (key, value string, wins bool) {
		if loses || w.duplicate() {
			return w.key(), w.value(), false
		}
		return w.fresh(), w.value(), true
	}
	return op{name: name, loses: loses, inserts: !loses, sides: []side{
		{handName, func(ctx context.Context, db db, w *worker) error {
			key, value, wins := arguments(w)
			tag, err := db.Exec(ctx, insertSQL+`on conflict do nothing returning version, expires_at`, "bench", key, value, ttlMillis())
			if err == nil && (tag.RowsAffected() == 1) != wins {
				err = fmt.Errorf("an INSERT of %s changed %d rows", key, tag.RowsAffected())
			}
			return err
		}},
		{applyName, func(ctx context.Context, db db, w *worker) error {
			key, value, _ := arguments(w)
			return apply(ctx, db, w, "["+writeOp("putIfAbsent", key, "value", value)+"]")
		}},
		{driverName, func(ctx context.Context, db db, w *worker) error {
			key, value, wins := arguments(w)
			v, err := kvpg.PutIfAbsent(ctx, db, rows, key, json.RawMessage(value), kvpg.TTL(ttl), nil)
			return applied(v, wins, err)
		}},
	}}
}

func applied(v kvpg.Verdict, want bool, err error) error {
	if err == nil && v.Applied != want {
		err = fmt.Errorf("the write of %s: applied is %t", v.Key, v.Applied)
	}
	return err
}

// batch is so many puts in a call as the cell says, of different keys; by hand one statement, which locks in key order.
var batch = op{name: "batch of puts", sides: []side{
	{handName, func(ctx context.Context, db db, w *worker) error {
		const sql = `insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
			select ` + tenantSQL + `, r.ns, r.key, r.value, nextval('queen.kv_version_seq'),
				statement_timestamp() + r."ttlMs" * interval '1 ms', statement_timestamp(), statement_timestamp()
			from jsonb_to_recordset($1::text::jsonb) as r (ns text, key text, value jsonb, "ttlMs" bigint)
			order by r.ns collate "C", r.key collate "C" ` + overwriteSQL + `returning key, version, expires_at`
		rows, err := db.Query(ctx, sql, w.batch())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var key string
			var version int64
			var expires time.Time
			if err := rows.Scan(&key, &version, &expires); err != nil {
				return err
			}
		}
		return rows.Err()
	}},
	{applyName, func(ctx context.Context, db db, w *worker) error { return apply(ctx, db, w, w.batch()) }},
	{driverName, func(ctx context.Context, db db, w *worker) error {
		ops := make([]kvpg.Op, w.cell.batch)
		for i, key := range w.keys(len(ops)) {
			ops[i] = kvpg.PutOp(rows, key, json.RawMessage(w.value()), kvpg.TTL(ttl), nil)
		}
		results, err := kvpg.Apply(ctx, db, ops...)
		for _, r := range results {
			err = applied(r.Verdict, true, err)
		}
		return err
	}},
}}

// batch is the ops text of a batch; the statement by hand reads the same text.
func (w *worker) batch() string {
	parts := w.keys(w.cell.batch)
	for i, key := range parts {
		parts[i] = writeOp("put", key, "value", w.value())
	}
	return "[" + strings.Join(parts, ",") + "]"
}
