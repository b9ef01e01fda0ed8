package quota

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/quota"
	"github.com/queenkv/queenkv/tests/testdb"
)

// allow sets a quota; 0 is no bound.
func allow(t *testing.T, pool *pgxpool.Pool, id [16]byte, rows, bytes int64) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `select queen.kv_quota_set_v1($1::uuid, nullif($2::bigint, 0), nullif($3::bigint, 0))`, tenantText(id), rows, bytes)
	if err != nil {
		t.Fatal(err)
	}
}

func measure(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), `select queen.kv_usage_step_v1(null, 1000)`); err != nil {
		t.Fatal(err)
	}
}

// late is an enforcer's options with a clock that runs ahead by what *ahead says, so that a measurement made now is one made later.
func late(ahead *time.Duration) *quota.Options {
	return &quota.Options{Now: func() time.Time { return time.Now().Add(*ahead) }}
}

// Over quota put, putIfAbsent and incr are refused, and nothing else is; a transaction goes on after it; the rest is as with kvpg.
func TestNeverRefused(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	pool := db.Pool(t)
	allow(t, pool, things.Tenant(), 3, 0)
	q := enforcer(t, pool, nil)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	forever := kvpg.Forever()
	first, err := q.Put(t.Context(), tx, things, "put", "v", forever, nil)
	if err != nil || !first.Applied {
		t.Fatalf("%+v, %v", first, err)
	}
	if v, err := q.PutIfAbsent(t.Context(), tx, things, "put", "w", forever, nil); err != nil || v.Reason != kvpg.ReasonExists {
		t.Errorf("%+v, %v; want exists", v, err)
	}
	wantRows(t, q, things, 1)
	if v, err := q.Incr(t.Context(), tx, things, "incr", 5, forever, nil); err != nil || string(v.Value) != "5" {
		t.Errorf("%+v, %v; want 5", v, err)
	}
	wantRows(t, q, things, 2)
	if v, err := q.Incr(t.Context(), tx, things, "incr", 5, forever, nil); err != nil || string(v.Value) != "10" {
		t.Errorf("%+v, %v; want 10", v, err)
	}
	wantRows(t, q, things, 2)
	if v, err := q.Put(t.Context(), tx, things, "put", "w", forever, &kvpg.PutOptions{Expect: kvpg.ExpectVersion(first.Version)}); err != nil || !v.Applied {
		t.Errorf("%+v, %v", v, err)
	}
	wantRows(t, q, things, 2)
	results, err := q.Apply(t.Context(), tx, kvpg.PutIfAbsentOp(things, "third", 1, forever, nil), kvpg.GetOp(things, "third"))
	if err != nil || len(results) != 2 || !results[1].Lookup.Found {
		t.Fatalf("%+v, %v", results, err)
	}

	_, err = q.Put(t.Context(), tx, things, "put", 1, forever, nil)
	refused(t, err, quota.ReasonRows, 3, 3)
	if want := "kvpg/quota: tenant 00000000-0000-0000-0000-000000000001 is over its quota: 3 of 3 rows"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	_, err = q.PutIfAbsent(t.Context(), tx, things, "put", 1, forever, nil)
	refused(t, err, quota.ReasonRows, 3, 3)
	_, err = q.Incr(t.Context(), tx, things, "incr", 1, forever, nil)
	refused(t, err, quota.ReasonRows, 3, 3)
	_, err = q.Apply(t.Context(), tx, kvpg.DeleteOp(things, "third", nil), kvpg.PutOp(things, "put", 1, forever, nil))
	refused(t, err, quota.ReasonRows, 3, 3)
	results, err = q.Apply(t.Context(), tx, kvpg.GetOp(things, "put"), kvpg.TouchOp(things, "put", kvpg.TTL(time.Hour), nil),
		kvpg.GetManyOp(things, []string{"third"}), kvpg.DeleteOp(things, "third", nil))
	if err != nil {
		t.Fatal(err)
	}
	if !results[0].Lookup.Found || !results[1].Verdict.Applied || !results[3].Verdict.Applied {
		t.Errorf("%+v", results)
	}
	if v, err := q.Put(t.Context(), tx, things.For([16]byte{7}), "put", 1, forever, nil); err != nil || !v.Applied {
		t.Errorf("a tenant without a quota: %+v, %v", v, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = q.Put(t.Context(), pool, things, "put", 1, forever, nil)
	refused(t, err, quota.ReasonRows, 3, 3) // a delete gives nothing back before the next measurement
}

// A tenant over his quota is released by a measurement under 90% of it, or by a higher limit at once.
func TestReleased(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	pool := db.Pool(t)
	allow(t, pool, things.Tenant(), 10, 0)
	var ahead time.Duration
	q := enforcer(t, pool, late(&ahead))
	for i := range 10 {
		if !put(t, q, pool, things, fmt.Sprint("k", i)) {
			t.Fatalf("put %d of 10 is refused", i)
		}
	}
	remove := func(key string) {
		if _, err := kvpg.Delete(t.Context(), pool, things, key, nil); err != nil {
			t.Fatal(err)
		}
	}
	next := func() {
		ahead += time.Hour
		measure(t, pool)
		refresh(t, q)
	}
	remove("k0")
	next()
	wantRows(t, q, things, 9)
	if put(t, q, pool, things, "new") {
		t.Error("released at 90%")
	}
	remove("k1")
	next()
	wantRows(t, q, things, 8)
	for i, want := range []bool{true, true, false} {
		if got := put(t, q, pool, things, fmt.Sprint("new", i)); got != want {
			t.Errorf("put %d above 8 rows of 10: %v", i, got)
		}
	}
	allow(t, pool, things.Tenant(), 12, 0)
	refresh(t, q)
	if u, _ := q.Usage(things.Tenant()); u.Rows != 10 || !put(t, q, pool, things, "new2") {
		t.Errorf("a higher limit doesn't release: %+v", u)
	}
	allow(t, pool, things.Tenant(), 0, 0)
	refresh(t, q)
	if _, ok := q.Usage(things.Tenant()); ok || !put(t, q, pool, things, "new3") {
		t.Error("a quota that was taken away still counts")
	}
}

// A write that was not committed when a tenant was measured counts until it can be in a measurement.
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	pool := db.Pool(t)
	allow(t, pool, things.Tenant(), 100, 0)
	var ahead time.Duration
	q := enforcer(t, pool, late(&ahead))
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put(t, q, tx, things, "k")
	measure(t, pool)
	refresh(t, q)
	wantRows(t, q, things, 1) // measured 0
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	measure(t, pool)
	refresh(t, q)
	wantRows(t, q, things, 2) // measured 1, and no minute after the write: some count twice for a while
	ahead = time.Hour
	measure(t, pool)
	refresh(t, q)
	wantRows(t, q, things, 1)
	u, _ := q.Usage(things.Tenant())
	if since := time.Now().Add(ahead).Sub(u.MeasuredAt); since < 0 || since > time.Minute || u.MeasuredRows != 1 || *u.MaxRows != 100 || u.MaxBytes != nil {
		t.Errorf("%+v, measured %v ago", u, since)
	}
}

// What is counted for a value is no less than what a measurement finds, whatever the value.
func TestBytes(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	pool := db.Pool(t)
	r := rand.New(rand.NewPCG(1, 1))
	values := []any{0, -1, 1.5, 12345.000001, "", "x", true, nil, []int{}, map[string]int{}, json.RawMessage("1e300"), json.RawMessage("1e-300"),
		json.RawMessage("12345678901234567890.5"), "a,b:c[d{e\"f\\", strings.Repeat("ab", 30000), strings.Repeat("é€", 100)}
	for range 120 {
		values = append(values, randomValue(r, 4))
	}
	for i := range values {
		id := [16]byte{1, byte(i), byte(i >> 8)}
		allow(t, pool, id, 0, 1<<40)
	}
	q := enforcer(t, pool, nil)
	for i, v := range values {
		id := [16]byte{1, byte(i), byte(i >> 8)}
		if _, err := q.Put(t.Context(), pool, things.For(id), "k", v, kvpg.Forever(), nil); err != nil {
			t.Fatal(err)
		}
		var stored int64
		err := pool.QueryRow(t.Context(), `select pg_column_size(value) from queen.kv where tenant_id = $1::uuid`, tenantText(id)).Scan(&stored)
		if err != nil {
			t.Fatal(err)
		}
		if u, _ := q.Usage(id); u.Bytes < stored {
			text, _ := json.Marshal(v)
			t.Errorf("%d bytes are counted for %.100s, which takes %d", u.Bytes, text, stored)
		}
	}
	id := [16]byte{2}
	allow(t, pool, id, 0, 1<<40)
	refresh(t, q)
	most := int64(1e18)
	for i := range 3 {
		key := fmt.Sprint("n", i)
		if _, err := q.Incr(t.Context(), pool, things.For(id), key, most, kvpg.Forever(), nil); err != nil {
			t.Fatal(err)
		}
	}
	measure(t, pool)
	u, _ := q.Usage(id)
	refresh(t, q)
	if after, _ := q.Usage(id); u.Bytes < after.MeasuredBytes {
		t.Errorf("%d bytes are counted for counters that take %d", u.Bytes, after.MeasuredBytes)
	}
}

func randomValue(r *rand.Rand, depth int) any {
	n := r.IntN(6)
	switch kind := r.IntN(8); {
	case kind == 0 && depth > 0:
		m := map[string]any{}
		for i := range n {
			m[strings.Repeat("k", i)] = randomValue(r, depth-1)
		}
		return m
	case kind <= 2 && depth > 0:
		list := make([]any, n)
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case kind == 3:
		return strings.Repeat("y", r.IntN(300))
	case kind == 4:
		return r.Float64() * 1e6
	case kind == 5:
		return []any{true, false, nil}[r.IntN(3)]
	}
	return r.IntN(20)
}

// What package quota says of Once's size, for Allow.
func TestBytesOfOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t, nil).Pool(t)
	for _, n := range []int{0, 1, 100, 1000, 48_000} {
		result := make([]byte, n)
		for i := range result {
			result[i] = byte(rand.IntN(256))
		}
		key := fmt.Sprint("once", n)
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = kvpg.Once(t.Context(), tx, things, key, time.Hour, func(context.Context) ([]byte, error) { return result, nil },
			&kvpg.OnceOptions{Fingerprint: []byte("f")})
		if err := errors.Join(err, tx.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		var stored float64
		if err := pool.QueryRow(t.Context(), `select pg_column_size(value) from queen.kv where key = $1`, key).Scan(&stored); err != nil {
			t.Fatal(err)
		}
		if most := 1.4*float64(n) + 200; stored > most {
			t.Errorf("a result of %d bytes takes %.0f, more than %.0f", n, stored, most)
		}
	}
}

// An enforcer needs no more than a reader's rights, and works over database/sql; it refuses a transaction, and names a missing schema.
func TestNew(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	pool := db.Pool(t)
	allow(t, pool, things.Tenant(), 1, 0)
	role := db.Role(t)
	if _, err := quota.New(t.Context(), db.PoolAs(t, role), nil); err == nil {
		t.Error("a role without rights reads quotas")
	}
	if _, err := pool.Exec(t.Context(), `select queen.kv_grant_v1($1::regrole, 'reader')`, role); err != nil {
		t.Fatal(err)
	}
	enforcer(t, db.PoolAs(t, role), nil)

	handle, err := sql.Open("pgx", db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	std := kvpg.FromSQL(handle)
	q := enforcer(t, std, nil)
	if !put(t, q, std, things, "a") || put(t, q, std, things, "b") {
		t.Error("over database/sql: want one put allowed and one refused")
	}

	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	for _, wrong := range []kvpg.DB{tx, nil} {
		if _, err := quota.New(t.Context(), wrong, nil); err == nil {
			t.Errorf("%T is taken", wrong)
		}
	}
	if _, err := quota.New(t.Context(), testdb.New(t, &testdb.Options{Empty: true}).Pool(t), nil); !errors.Is(err, kvpg.ErrSchema) {
		t.Errorf("%v, want ErrSchema", err)
	}
}
