package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/quota"
)

var things = kvpg.NewNamespace("things")

// start is when tests with a clock of their own begin.
var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A line is a tenant's line of what a fake answers to a reading.
type line struct {
	Tenant   string `json:"tenant"`
	MaxRows  *int64 `json:"maxRows"`
	MaxBytes *int64 `json:"maxBytes"`
	Rows     int64  `json:"rows"`
	Bytes    int64  `json:"bytes"`
	Sampled  bool   `json:"sampled"`
	Age      *int64 `json:"age"` // microseconds
}

func tenantText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

// A fake answers readings by read, and kv_apply_v1 by apply, which gets the ops and gives the results; without apply every write
// applies with version 1.
type fake struct {
	read  func() ([]line, error)
	apply func(ops []map[string]any) ([]map[string]any, error)
}

func (f *fake) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	return fakeRow(func(dest []any) error {
		switch {
		case strings.Contains(sql, "kv_schema_version_v1"):
			*dest[0].(*int) = 1
			return nil
		case strings.Contains(sql, "kv_quota_refresh_v1"):
			lines, err := f.read()
			return answer(dest, append([]line{}, lines...), err)
		case strings.Contains(sql, "kv_apply_v1"):
			var ops []map[string]any
			if err := json.Unmarshal([]byte(args[0].(string)), &ops); err != nil {
				return err
			}
			apply := f.apply
			if apply == nil {
				apply = allApply
			}
			results, err := apply(ops)
			return answer(dest, results, err)
		}
		return errors.New("unknown statement: " + sql)
	})
}

func answer(dest []any, v any, err error) error {
	if err != nil {
		return err
	}
	text, err := json.Marshal(v)
	*dest[0].(*string) = string(text)
	return err
}

type fakeRow func(dest []any) error

func (f fakeRow) Scan(dest ...any) error { return f(dest) }

func allApply(ops []map[string]any) ([]map[string]any, error) {
	results := make([]map[string]any, len(ops))
	for i, op := range ops {
		value := op["value"]
		if op["op"] == "incr" {
			value = op["delta"]
		}
		results[i] = map[string]any{"index": i, "op": op["op"], "key": op["key"], "applied": true, "value": value, "version": 1}
	}
	return results, nil
}

// one is a fake of one tenant who may have so many rows, of which so many were measured, so long ago.
func one(limit, rows *int64, age *time.Duration) *fake {
	return &fake{read: func() ([]line, error) {
		l := line{Tenant: tenantText(things.Tenant()), MaxRows: limit, Rows: *rows}
		if age != nil {
			us := age.Microseconds()
			l.Age = &us
		}
		return []line{l}, nil
	}}
}

func enforcer(t *testing.T, db kvpg.DB, opts *quota.Options) *quota.Enforcer {
	t.Helper()
	q, err := quota.New(t.Context(), db, opts)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// put puts a small value under a key, and tells whether it was allowed.
func put(t *testing.T, q *quota.Enforcer, db kvpg.DB, ns kvpg.Namespace, key string) bool {
	t.Helper()
	_, err := q.Put(t.Context(), db, ns, key, 1, kvpg.Forever(), nil)
	if err != nil && !errors.Is(err, quota.ErrQuota) {
		t.Fatal(err)
	}
	return err == nil
}

func refresh(t *testing.T, q *quota.Enforcer) {
	t.Helper()
	if err := q.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantRows compares what is counted for a tenant.
func wantRows(t *testing.T, q *quota.Enforcer, ns kvpg.Namespace, want int64) {
	t.Helper()
	u, ok := q.Usage(ns.Tenant())
	if !ok || u.Rows != want {
		t.Errorf("%d rows are counted (known: %v), want %d", u.Rows, ok, want)
	}
}

func refused(t *testing.T, err error, reason quota.Reason, limit, usage int64) {
	t.Helper()
	var e *quota.Error
	if !errors.Is(err, quota.ErrQuota) || !errors.As(err, &e) {
		t.Fatalf("%v, want ErrQuota", err)
	}
	if e.Reason != reason || e.Limit != limit || e.Usage != usage {
		t.Errorf("%q, %d of %d; want %q, %d of %d", e.Reason, e.Usage, e.Limit, reason, usage, limit)
	}
}

// counting counts what is sent.
type counting struct {
	db         kvpg.DB
	statements atomic.Int64
}

func (c *counting) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c.statements.Add(1)
	return c.db.QueryRow(ctx, sql, args...)
}
