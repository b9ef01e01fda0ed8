package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

const (
	columns = `select key, value, version, expires_at, updated_at from `
	live    = ` and (expires_at is null or expires_at > statement_timestamp())`
)

var get = op{name: "get", reads: true, sides: []side{
	{handName, func(ctx context.Context, db db, w *worker) error {
		const sql = columns + `queen.kv where tenant_id = ` + tenantSQL + ` and namespace = $1 and key = $2` + live
		return readOne(w, db.QueryRow(ctx, sql, "bench", w.key()))
	}},
	{typedName, func(ctx context.Context, db db, w *worker) error {
		return readOne(w, db.QueryRow(ctx, columns+`queen.kv_get_v1($1, $2)`, "bench", w.key()))
	}},
	{applyName, func(ctx context.Context, db db, w *worker) error {
		return apply(ctx, db, w, `[{"op":"get","ns":"bench","key":"`+w.key()+`"}]`)
	}},
	{driverName, func(ctx context.Context, db db, w *worker) error {
		e, ok, err := kvpg.Get(ctx, db, rows, w.key())
		if err == nil && !ok {
			err = fmt.Errorf("%s is not there", e.Key)
		}
		return errors.Join(err, w.sawVersion(e.Version))
	}},
}}

const manyKeys = 100

var getMany = op{name: fmt.Sprint("getMany of ", manyKeys), reads: true, sides: []side{
	{handName, func(ctx context.Context, db db, w *worker) error {
		const sql = columns + `queen.kv where tenant_id = ` + tenantSQL + ` and namespace = $1 and key = any ($2)` + live
		return readAll(ctx, db, w, sql)
	}},
	{typedName, func(ctx context.Context, db db, w *worker) error {
		return readAll(ctx, db, w, columns+`queen.kv_get_many_v1($1, $2)`)
	}},
	{applyName, func(ctx context.Context, db db, w *worker) error {
		return apply(ctx, db, w, `[{"op":"getMany","ns":"bench","keys":["`+strings.Join(w.keys(manyKeys), `","`)+`"]}]`)
	}},
	{driverName, func(ctx context.Context, db db, w *worker) error {
		found, err := kvpg.GetMany(ctx, db, rows, w.keys(manyKeys))
		for _, l := range found {
			err = errors.Join(err, w.sawVersion(l.Version))
		}
		return err
	}},
}}

func readOne(w *worker, row pgx.Row) error {
	var key string
	var value json.RawMessage
	var version int64
	var expires, updated *time.Time
	if err := row.Scan(&key, &value, &version, &expires, &updated); err != nil {
		return err
	}
	w.saw(version)
	return nil
}

func readAll(ctx context.Context, db db, w *worker, sql string) error {
	rows, err := db.Query(ctx, sql, "bench", w.keys(manyKeys))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := readOne(w, rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// sawVersion is saw for a version of the driver, whose number is read while checking alone.
func (w *worker) sawVersion(v kvpg.Version) error {
	if !w.checking {
		return nil
	}
	n, err := strconv.ParseInt(v.String(), 10, 64)
	w.saw(n)
	return err
}
