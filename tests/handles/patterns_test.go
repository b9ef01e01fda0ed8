package handles

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

func limit(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
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
}

func limitMany(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
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
}

func dedupe(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
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
}

func lease(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
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
}

// leaseGuard: a transaction of the holder's commits, and one of who has lost the lease can't.
func leaseGuard(t *testing.T, h *handle) {
	ctx, ns := t.Context(), freshSpace()
	var l kvpg.Lease
	inTx(t, h, func(tx kvpg.Tx) {
		var err error
		if l, _, err = kvpg.AcquireLease(ctx, tx, ns, "k", time.Hour, nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Guard(ctx, tx), tx.Commit(ctx)); err != nil {
			t.Errorf("the holder's transaction: %v", err)
		}
	})
	inTx(t, h, func(tx kvpg.Tx) {
		if held, err := l.Release(ctx, tx); err != nil || !held {
			t.Fatal(held, err)
		}
		must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "effect", 1, kvpg.Forever(), nil))
		if err := l.Guard(ctx, tx); !errors.Is(err, kvpg.ErrLeaseLost) {
			t.Errorf("without the lease: %v, want kvpg.ErrLeaseLost", err)
		}
		if err := tx.Commit(ctx); err == nil {
			t.Error("without the lease the commit succeeded")
		}
	})
	wantKeys(t, h, ns, "k")
}
