package kvpg_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

func openSQL(t *testing.T, database *testdb.DB) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", database.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A list longer than a call takes is cut where it is sorted: of equal keys the first in the caller's order is new, wherever the cut is.
func TestDedupeOfALongList(t *testing.T) {
	t.Parallel()
	const n = 10000
	pool := testdb.New(t, nil).Pool(t)
	ns := freshSpace()
	// 3,333 keys three times, in an order that is not theirs, with every cut of 4,096 inside some run of equals.
	keys, want, seen := make([]string, n), make([]bool, n), map[string]bool{}
	for i := range keys {
		keys[i] = fmt.Sprint(i * 7919 % 3333)
		want[i] = !seen[keys[i]]
		seen[keys[i]] = true
	}
	fresh, err := kvpg.Dedupe(t.Context(), pool, ns, keys, time.Hour)
	if err != nil || !slices.Equal(fresh, want) {
		t.Fatalf("a list of %d: %v", n, err)
	}
	fresh, err = kvpg.Dedupe(t.Context(), pool, ns, append(keys, "new"), time.Hour)
	if err != nil || slices.Contains(fresh[:n], true) || !fresh[n] {
		t.Errorf("again, with a new one: %v", err)
	}
}

// A guard passes while the lease is held, and makes the transaction uncommittable when it isn't.
func TestLeaseGuard(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	pool, db := database.Pool(t), openSQL(t, database)
	ns := freshSpace()
	l, ok, err := kvpg.AcquireLease(t.Context(), pool, ns, "k", time.Hour, nil)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	play := func(wantErr error) {
		t.Helper()
		tx := begin(t, pool)
		sqlTx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer sqlTx.Rollback()
		for name, tx := range map[string]kvpg.Tx{"pgx": tx, "database/sql": kvpg.FromSQLTx(sqlTx)} {
			err := l.Guard(t.Context(), tx)
			if !errors.Is(err, wantErr) || (err == nil) != (wantErr == nil) {
				t.Errorf("%s: %v, want %v", name, err, wantErr)
			}
			if err := tx.Commit(t.Context()); (err == nil) != (wantErr == nil) {
				t.Errorf("%s: commit: %v", name, err)
			}
		}
	}
	play(nil)
	if held, err := l.Release(t.Context(), pool); err != nil || !held {
		t.Fatal(held, err)
	}
	play(kvpg.ErrLeaseLost)
}

// What the driver refuses is not sent: the transaction stays usable, and a rule of SQL comes with its code.
func TestPatternFaults(t *testing.T) {
	t.Parallel()
	tx := begin(t, testdb.New(t, nil).Conn(t))
	ctx, ns := t.Context(), freshSpace()
	many := strings.Split(strings.Repeat("k,", 4096)+"k", ",")
	limit := func(ns kvpg.Namespace, key string, window time.Duration) error {
		_, err := kvpg.Limit(ctx, tx, ns, key, 1, 1, window)
		return err
	}
	numbers := func(cost, limit int64) error {
		_, err := kvpg.Limit(ctx, tx, ns, "k", cost, limit, time.Hour)
		return err
	}
	acquire := func(ns kvpg.Namespace, key, owner string, ttl time.Duration) error {
		_, _, err := kvpg.AcquireLease(ctx, tx, ns, key, ttl, &kvpg.LeaseOptions{Owner: owner})
		return err
	}
	dedupe := func(ns kvpg.Namespace, ttl time.Duration, keys ...string) error {
		_, err := kvpg.Dedupe(ctx, tx, ns, keys, ttl)
		return err
	}
	_, tooMany := kvpg.LimitMany(ctx, tx, ns, make([]kvpg.Hit, 1), 1, time.Hour)
	hits := make([]kvpg.Hit, len(many))
	for i := range hits {
		hits[i].Key = "k"
	}
	_, tooManyHits := kvpg.LimitMany(ctx, tx, ns, hits, 1, time.Hour)
	for name, c := range map[string]struct {
		err  error
		code kvpg.Code
	}{
		"limit, namespace":   {limit(kvpg.Namespace{}, "k", time.Hour), kvpg.ErrBadNamespace},
		"limit, key":         {limit(ns, "", time.Hour), kvpg.ErrBadKey},
		"limit, NUL":         {limit(ns, "\x00", time.Hour), kvpg.ErrBadKey},
		"limit, long key":    {limit(ns, strings.Repeat("k", 2049), time.Hour), kvpg.ErrKeyTooLarge},
		"limit, window":      {limit(ns, "k", 0), kvpg.ErrBadTTL},
		"limit, cost":        {numbers(-1, 1), kvpg.ErrBadNumber},
		"limit, limit":       {numbers(1, -1), kvpg.ErrBadNumber},
		"acquire, long name": {acquire(ns, "k", strings.Repeat("o", 2049), time.Hour), kvpg.ErrValueTooLarge},
		"limits, key":        {tooMany, kvpg.ErrBadKey},
		"limits, 4,097":      {tooManyHits, kvpg.ErrTooManyKeys},
		"acquire, namespace": {acquire(kvpg.Namespace{}, "k", "", time.Hour), kvpg.ErrBadNamespace},
		"acquire, key":       {acquire(ns, "\xff", "", time.Hour), kvpg.ErrBadKey},
		"acquire, owner":     {acquire(ns, "k", "\x00", time.Hour), kvpg.ErrBadRequest},
		"acquire, ttl":       {acquire(ns, "k", "", -1), kvpg.ErrBadTTL},
		"guard, zero":        {kvpg.Lease{}.Guard(ctx, tx), kvpg.ErrBadNamespace},
		"dedupe, namespace":  {dedupe(kvpg.Namespace{}, time.Hour, "k"), kvpg.ErrBadNamespace},
		"dedupe, key":        {dedupe(ns, time.Hour, "k", ""), kvpg.ErrBadKey},
		"dedupe, ttl":        {dedupe(ns, 1<<63-1, "k"), kvpg.ErrBadTTL},
	} {
		var e *kvpg.Error
		if !errors.As(c.err, &e) || e.Code != c.code || e.Index != -1 {
			t.Errorf("%s: %v, want %s at no op", name, c.err, c.code)
		}
	}
	if err := dedupe(ns, time.Hour, many...); err != nil {
		t.Errorf("the transaction is no longer usable: %v", err)
	}
}
