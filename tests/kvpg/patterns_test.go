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

// eachHandleOrSQL is eachHandle and a *sql.DB.
func eachHandleOrSQL(t *testing.T, f func(t *testing.T, db kvpg.DB)) {
	t.Helper()
	eachHandle(t, f)
	t.Run("sql.DB", func(t *testing.T) {
		t.Parallel()
		f(t, kvpg.FromSQL(openSQL(t, testdb.New(t, nil))))
	})
}

func openSQL(t *testing.T, database *testdb.DB) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", database.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestLimit(t *testing.T) {
	t.Parallel()
	eachHandleOrSQL(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		before := clock(t, db)
		first, err := kvpg.Limit(ctx, db, ns, "k", 2, 3, time.Hour)
		after := clock(t, db)
		if err != nil || !first.Allowed || first.Reason != "" || first.Remaining != 1 ||
			first.ResetAt.Before(before.Add(time.Hour)) || first.ResetAt.After(after.Add(time.Hour)) || first.ResetAt.Location() != time.UTC {
			t.Fatalf("the first hit, between %v and %v: %+v, %v", before, after, first, err)
		}
		for _, c := range []struct {
			cost, limit int64
			want        kvpg.LimitVerdict
		}{
			{2, 3, kvpg.LimitVerdict{Reason: kvpg.ReasonLimit, Remaining: 1, ResetAt: first.ResetAt}},
			{0, 3, kvpg.LimitVerdict{Allowed: true, Remaining: 1, ResetAt: first.ResetAt}},
			{1, 3, kvpg.LimitVerdict{Allowed: true, Remaining: 0, ResetAt: first.ResetAt}},
			{1<<63 - 1, 1<<63 - 1, kvpg.LimitVerdict{Reason: kvpg.ReasonLimit, Remaining: 1<<63 - 4, ResetAt: first.ResetAt}},
		} {
			got, err := kvpg.Limit(ctx, db, ns, "k", c.cost, c.limit, time.Hour)
			if left := first.ResetAt.Sub(clock(t, db)); got.ResetIn < left || got.ResetIn > time.Hour {
				t.Errorf("a cost of %d: the window closes in %v, want between %v and an hour", c.cost, got.ResetIn, left)
			}
			got.ResetIn = 0
			if err != nil || got != c.want {
				t.Errorf("a cost of %d: %+v, %v, want %+v", c.cost, got, err, c.want)
			}
		}
		if got, err := kvpg.Limit(ctx, db, ns, "other", 4, 3, time.Hour); err != nil || got != (kvpg.LimitVerdict{Reason: kvpg.ReasonLimit, Remaining: 3}) {
			t.Errorf("a first cost above the limit: %+v, %v", got, err)
		}
		if v, err := kvpg.Incr(ctx, db, ns, "k", 1, kvpg.Forever(), nil); err != nil || string(v.Value) != "4" || !v.ExpiresAt.Equal(first.ResetAt) {
			t.Errorf("incr after three hits: %+v, %v", v, err)
		}
	})
}

func TestLimitMany(t *testing.T) {
	t.Parallel()
	eachHandleOrSQL(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		if v, err := kvpg.LimitMany(ctx, db, ns, nil, 1, time.Hour); v != nil || err != nil {
			t.Errorf("no hits: %v, %v", v, err)
		}
		must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "text", "text", kvpg.Forever(), nil))
		hits := []kvpg.Hit{{Key: "b", Cost: 1}, {Key: "text", Cost: 1}, {Key: "a", Cost: 3}, {Key: "b", Cost: 2}, {Key: "b", Cost: 1}}
		for _, key := range oddKeys {
			hits = append(hits, kvpg.Hit{Key: key, Cost: 1})
		}
		got, err := kvpg.LimitMany(ctx, db, ns, hits, 2, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, v := range got {
			lines = append(lines, fmt.Sprintf("%v %s %d", v.Allowed, v.Reason, v.Remaining))
		}
		want := append([]string{"true  1", "false type 0", "false limit 2", "false limit 1", "true  0"},
			slices.Repeat([]string{"true  1"}, len(oddKeys))...)
		if !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
	})
}

func TestDedupe(t *testing.T) {
	t.Parallel()
	eachHandleOrSQL(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		if fresh, err := kvpg.Dedupe(ctx, db, ns, nil, time.Hour); fresh != nil || err != nil {
			t.Errorf("no keys: %v, %v", fresh, err)
		}
		fresh, err := kvpg.Dedupe(ctx, db, ns, []string{"b", "a", "b"}, time.Hour)
		if err != nil || !slices.Equal(fresh, []bool{true, true, false}) {
			t.Errorf("%v, %v, want the first b and a new", fresh, err)
		}
		ns = freshSpace()
		for _, want := range []bool{true, false} {
			fresh, err := kvpg.Dedupe(ctx, db, ns, oddKeys, time.Hour)
			if err != nil || !slices.Equal(fresh, slices.Repeat([]bool{want}, len(oddKeys))) {
				t.Errorf("%q: %v, %v, want all %v", oddKeys, fresh, err, want)
			}
		}
	})
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

func TestLease(t *testing.T) {
	t.Parallel()
	eachHandleOrSQL(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		before := clock(t, db)
		l, ok, err := kvpg.AcquireLease(ctx, db, ns, "k", time.Hour, &kvpg.LeaseOptions{Owner: "me"})
		after := clock(t, db)
		if err != nil || !ok || l.Token.IsZero() || l.Owner != "me" || l.Key != "k" || l.Namespace != ns ||
			l.ExpiresAt.Before(before.Add(time.Hour)) || l.ExpiresAt.After(after.Add(time.Hour)) {
			t.Fatalf("%+v, %v, %v", l, ok, err)
		}
		other, ok, err := kvpg.AcquireLease(ctx, db, ns, "k", time.Minute, nil)
		if err != nil || ok || !other.Token.IsZero() || other.Owner != "me" || !other.ExpiresAt.Equal(l.ExpiresAt) {
			t.Errorf("a second holder: %+v, %v, %v", other, ok, err)
		}
		renewed, held, err := l.Renew(ctx, db, 2*time.Hour)
		if err != nil || !held || renewed.Token != l.Token || !renewed.ExpiresAt.After(l.ExpiresAt) {
			t.Errorf("renewed: %+v, %v, %v", renewed, held, err)
		}
		if held, err := l.Release(ctx, db); err != nil || !held {
			t.Errorf("released: %v, %v", held, err)
		}
		if again, held, err := l.Renew(ctx, db, time.Hour); err != nil || held || again != l {
			t.Errorf("renewed after the release: %+v, %v, %v", again, held, err)
		}
		if held, err := l.Release(ctx, db); err != nil || held {
			t.Errorf("released twice: %v, %v", held, err)
		}
		if l, ok, err := kvpg.AcquireLease(ctx, db, ns, "k", time.Hour, nil); err != nil || !ok || l.Owner != "" {
			t.Errorf("taken anew: %+v, %v, %v", l, ok, err)
		}
		must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "null", nil, kvpg.Forever(), nil))
		if l, ok, err := kvpg.AcquireLease(ctx, db, ns, "null", time.Hour, nil); err != nil || ok || l.Owner != "" || !l.ExpiresAt.IsZero() {
			t.Errorf("over JSON null that lives forever: %+v, %v, %v", l, ok, err)
		}
	})
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
	if _, err := kvpg.Limit(ctx, tx, ns, "k", -1, 1, time.Hour); !errors.Is(err, kvpg.ErrBadNumber) {
		t.Errorf("a cost below 0: %v", err)
	}
}
