package handles

import (
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

func putGetDelete(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	verdict := must[kvpg.Verdict](t)

	if e, ok, err := kvpg.Get(ctx, db, ns, "k"); ok || err != nil || e.Key != "k" || e.Value != nil || !e.Version.IsZero() {
		t.Fatalf("absent: got %+v, %v, %v", e, ok, err)
	}

	before := clock(t, db)
	put := verdict(kvpg.Put(ctx, db, ns, "k", map[string]any{"a": 1}, kvpg.TTL(time.Hour), nil))
	after := clock(t, db)
	if !put.Applied || put.Reason != "" || put.Key != "k" || string(put.Value) != `{"a": 1}` || put.Version.IsZero() {
		t.Fatalf("put: got %+v", put)
	}
	if put.ExpiresAt.Before(before.Add(time.Hour)) || put.ExpiresAt.After(after.Add(time.Hour)) {
		t.Errorf("put expires at %v, want an hour after %v to %v", put.ExpiresAt, before, after)
	}

	e, ok, err := kvpg.Get(ctx, db, ns, "k")
	if !ok || err != nil || e.Key != "k" || string(e.Value) != `{"a": 1}` || e.Version != put.Version || !e.ExpiresAt.Equal(put.ExpiresAt) {
		t.Fatalf("get: got %+v, %v, %v, want what put told: %+v", e, ok, err, put)
	}
	if e.UpdatedAt.Before(before) || e.UpdatedAt.After(after) || e.UpdatedAt.Location() != time.UTC {
		t.Errorf("updated at %v, want between %v and %v, in UTC", e.UpdatedAt, before, after)
	}

	again := verdict(kvpg.Put(ctx, db, ns, "k", "new", kvpg.Forever(), nil))
	if !again.Applied || again.Version == put.Version || !again.ExpiresAt.IsZero() {
		t.Errorf("put over it: got %+v, want another version that lives forever", again)
	}
	if e, ok, err := kvpg.Get(ctx, db, ns, "k"); !ok || err != nil || !e.ExpiresAt.IsZero() || e.Version != again.Version {
		t.Errorf("get of a forever key: got %+v, %v, %v", e, ok, err)
	}

	deleted := verdict(kvpg.Delete(ctx, db, ns, "k", nil))
	if !deleted.Applied || string(deleted.Value) != `"new"` || deleted.Version != again.Version {
		t.Errorf("delete: got %+v, want what it deleted", deleted)
	}
	gone := verdict(kvpg.Delete(ctx, db, ns, "k", nil))
	if gone.Applied || gone.Reason != kvpg.ReasonAbsent || gone.Value != nil || !gone.Version.IsZero() {
		t.Errorf("delete of nothing: got %+v, want absent", gone)
	}
}

func preconditions(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	first := must[kvpg.Verdict](t)(kvpg.PutIfAbsent(ctx, db, ns, "k", 1, kvpg.TTL(time.Hour), nil))
	if !first.Applied {
		t.Fatalf("putIfAbsent: got %+v", first)
	}
	other := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "other", 1, kvpg.Forever(), nil)).Version

	put := func(key string, e kvpg.Expect) (kvpg.Verdict, error) {
		return kvpg.Put(ctx, db, ns, key, 2, kvpg.Forever(), &kvpg.PutOptions{Expect: e})
	}
	del := func(key string, e kvpg.Expect) (kvpg.Verdict, error) {
		return kvpg.Delete(ctx, db, ns, key, &kvpg.DeleteOptions{Expect: e})
	}
	touch := func(key string, e kvpg.Expect) (kvpg.Verdict, error) {
		return kvpg.Touch(ctx, db, ns, key, kvpg.Forever(), &kvpg.TouchOptions{Expect: e})
	}
	type call func(string, kvpg.Expect) (kvpg.Verdict, error)
	for name, op := range map[string]call{"put": put, "delete": del, "touch": touch} {
		for _, c := range []struct {
			key    string
			expect kvpg.Expect
			reason kvpg.Reason
		}{
			{"k", kvpg.ExpectAbsent(), kvpg.ReasonExists},
			{"k", kvpg.ExpectVersion(kvpg.Version{}), kvpg.ReasonExists},
			{"k", kvpg.ExpectVersion(other), kvpg.ReasonVersion},
			{"none", kvpg.ExpectVersion(other), kvpg.ReasonAbsent},
		} {
			v := must[kvpg.Verdict](t)(op(c.key, c.expect))
			if v.Applied || v.Reason != c.reason || v.Key != c.key {
				t.Errorf("%s %s: got %+v, want %s", name, c.key, v, c.reason)
			}
			if c.key == "k" && (string(v.Value) != "1" || v.Version != first.Version || !v.ExpiresAt.Equal(first.ExpiresAt)) {
				t.Errorf("%s: got %+v, want the row that stood in the way: %+v", name, v, first)
			}
		}
	}
	if v := must[kvpg.Verdict](t)(kvpg.PutIfAbsent(ctx, db, ns, "k", 2, kvpg.Forever(), nil)); v.Applied || v.Reason != kvpg.ReasonExists || v.Version != first.Version {
		t.Errorf("putIfAbsent of a live key: got %+v", v)
	}
	if v := must[kvpg.Verdict](t)(del("none", kvpg.ExpectAbsent())); !v.Applied || v.Value != nil || !v.Version.IsZero() {
		t.Errorf("delete of an absent key that is expected absent: got %+v, want it applied", v)
	}

	back := must[kvpg.Version](t)(kvpg.ParseVersion(first.Version.String()))
	if v := must[kvpg.Verdict](t)(touch("k", kvpg.ExpectVersion(back))); !v.Applied || v.Version != first.Version || !v.ExpiresAt.IsZero() {
		t.Errorf("touch: got %+v, want the same version, forever", v)
	}
	if v := must[kvpg.Verdict](t)(put("k", kvpg.ExpectVersion(first.Version))); !v.Applied || v.Version == first.Version {
		t.Errorf("put of the expected version: got %+v", v)
	}
	if v := must[kvpg.Verdict](t)(put("made", kvpg.ExpectAbsent())); !v.Applied {
		t.Errorf("put of an absent key: got %+v", v)
	}
}

func incr(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	incr := func(key string, delta int64, opts *kvpg.IncrOptions) kvpg.Verdict {
		t.Helper()
		return must[kvpg.Verdict](t)(kvpg.Incr(ctx, db, ns, key, delta, kvpg.TTL(time.Hour), opts))
	}
	want := func(v kvpg.Verdict, applied bool, reason kvpg.Reason, number int64) {
		t.Helper()
		n, err := v.Int64()
		if v.Applied != applied || v.Reason != reason || err != nil || n != number {
			t.Errorf("got %+v, %d, %v, want applied %v, reason %q, number %d", v, n, err, applied, reason, number)
		}
	}
	first := incr("n", 2, nil)
	want(first, true, "", 2)
	five := int64(5)
	want(incr("n", 3, &kvpg.IncrOptions{Max: &five}), true, "", 5)
	want(incr("n", 1, &kvpg.IncrOptions{Max: &five}), false, kvpg.ReasonLimit, 5)
	want(incr("n", -1, &kvpg.IncrOptions{Max: &five, Min: &five}), false, kvpg.ReasonLimit, 5)
	want(incr("n", -6, nil), true, "", -1)
	if last := incr("n", 0, nil); !last.ExpiresAt.Equal(first.ExpiresAt) {
		t.Errorf("the window moved from %v to %v", first.ExpiresAt, last.ExpiresAt)
	}

	if v := incr("none", 6, &kvpg.IncrOptions{Max: &five}); v.Applied || v.Reason != kvpg.ReasonLimit || v.Value != nil {
		t.Errorf("a first step above max: got %+v, want limit and no value", v)
	}
	must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "text", "1", kvpg.Forever(), nil))
	if v := incr("text", 1, nil); v.Applied || v.Reason != kvpg.ReasonType || string(v.Value) != `"1"` {
		t.Errorf("incr of a string: got %+v, want type and the string", v)
	}
}

// clock is the server's, to the microsecond.
func clock(t *testing.T, db kvpg.DB) time.Time {
	t.Helper()
	var micros int64
	err := db.QueryRow(t.Context(), `select (extract(epoch from clock_timestamp()) * 1000000)::bigint`).Scan(&micros)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMicro(micros)
}
