package kvpg_test

import (
	"slices"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

func TestPutGetDelete(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
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
	})
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
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
	})
}

func TestIncr(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
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
	})
}

// oddKeys would break a text[] literal, a LIKE pattern, a JSON string or a comparison that is not by bytes.
var oddKeys = []string{
	`a"b\c`, `{a,b}`, "NULL", " ", "\n\t\x01\x7f", "'; --", "100%_\\", "é", "e\u0301", "日本", "\U0001F600", "\u2028",
	"\ufffd", "\uffff", "\U0010FFFF", "$1", `\u0000`, "Z", "a",
}

func TestGetMany(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		ops := make([]kvpg.Op, len(oddKeys))
		for i, key := range oddKeys {
			ops[i] = kvpg.PutOp(ns, key, key, kvpg.TTL(time.Hour), nil)
		}
		written := must[[]kvpg.Result](t)(kvpg.Apply(ctx, db, ops...))

		asked := append([]string{"none"}, oddKeys...)
		asked = append(asked, "none", oddKeys[0])
		slots := must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, db, ns, asked))
		if len(slots) != len(asked) {
			t.Fatalf("%d slots for %d keys", len(slots), len(asked))
		}
		for i, slot := range slots {
			wantFound := asked[i] != "none"
			if slot.Key != asked[i] || slot.Found != wantFound {
				t.Errorf("slot %d: got %+v, want key %q, found %v", i, slot, asked[i], wantFound)
			}
			if !wantFound {
				continue
			}
			put := written[slices.Index(oddKeys, asked[i])].Verdict
			single, ok, err := kvpg.Get(ctx, db, ns, asked[i])
			if !ok || err != nil {
				t.Fatalf("get %q: %v, %v", asked[i], ok, err)
			}
			if slot.Version != put.Version || !slot.ExpiresAt.Equal(put.ExpiresAt) || string(slot.Value) != string(put.Value) ||
				string(single.Value) != string(slot.Value) || single.Version != slot.Version ||
				!single.UpdatedAt.Equal(slot.UpdatedAt) || !single.ExpiresAt.Equal(slot.ExpiresAt) {
				t.Errorf("slot %d: got %+v, put told %+v, get %+v", i, slot, put, single)
			}
		}
	})
}

func TestGetPrefix(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		var ops []kvpg.Op
		var want []string
		for _, key := range oddKeys {
			ops = append(ops, kvpg.PutOp(ns, "p/"+key, key, kvpg.Forever(), nil))
			want = append(want, "p/"+key)
		}
		ops = append(ops, kvpg.PutOp(ns, "p", 1, kvpg.Forever(), nil), kvpg.PutOp(ns, "p0", 1, kvpg.Forever(), nil))
		must[[]kvpg.Result](t)(kvpg.Apply(ctx, db, ops...))
		slices.Sort(want) // Go compares strings by bytes

		for _, keysOnly := range []bool{false, true} {
			var got []string
			opts := &kvpg.GetPrefixOptions{Limit: 4, KeysOnly: keysOnly}
			for {
				page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, db, ns, "p/", opts))
				for _, e := range page.Entries {
					got = append(got, e.Key)
					if (e.Value == nil) != keysOnly || e.Version.IsZero() || e.UpdatedAt.IsZero() || !e.ExpiresAt.IsZero() {
						t.Errorf("keysOnly %v: got %+v", keysOnly, e)
					}
				}
				if page.Truncated != (page.NextAfter != "") || page.Truncated && len(page.Entries) != 4 {
					t.Fatalf("got a page of %d, truncated %v, next %q", len(page.Entries), page.Truncated, page.NextAfter)
				}
				if !page.Truncated {
					break
				}
				opts.After = page.NextAfter
			}
			if !slices.Equal(got, want) {
				t.Errorf("keysOnly %v: got %q, want %q", keysOnly, got, want)
			}
		}
		if page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, db, ns, "p/", nil)); len(page.Entries) != len(want) || page.Truncated {
			t.Errorf("without options: got %d entries, truncated %v, want all %d", len(page.Entries), page.Truncated, len(want))
		}
		if page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, db, ns, "nothing", nil)); len(page.Entries) != 0 || page.Truncated {
			t.Errorf("an empty page: got %+v", page)
		}
	})
}

func TestApply(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		results := must[[]kvpg.Result](t)(kvpg.Apply(ctx, db,
			kvpg.GetManyOp(ns, []string{"z", "b", "a", "b"}),
			kvpg.PutOp(ns, "b", nil, kvpg.Forever(), nil),
			kvpg.GetOp(ns, "b"),
			kvpg.PutIfAbsentOp(ns, "b", 1, kvpg.Forever(), nil),
			kvpg.IncrOp(ns, "a", 7, kvpg.TTL(time.Hour), nil),
			kvpg.TouchOp(ns, "a", kvpg.Forever(), nil),
			kvpg.DeleteOp(ns, "gone", nil),
			kvpg.GetOp(ns, "gone"),
			kvpg.GetPrefixOp(ns, "a", nil),
		))
		ops := []string{"getMany", "put", "get", "putIfAbsent", "incr", "touch", "delete", "get", "getPrefix"}
		if len(results) != len(ops) {
			t.Fatalf("%d results for %d ops", len(results), len(ops))
		}
		for i, op := range ops {
			if results[i].Op != op {
				t.Errorf("result %d is of %q, want %q", i, results[i].Op, op)
			}
		}
		many := results[0].Many
		if len(many.Entries) != 2 || many.Entries[0].Key != "a" || many.Entries[1].Key != "b" || many.Truncated ||
			!slices.Equal(many.Missing, []string{"z"}) {
			t.Errorf("getMany: got %+v, want a and b, with z missing", many)
		}
		if got := results[2].Lookup; !got.Found || string(got.Value) != "null" || got.Version != results[1].Verdict.Version {
			t.Errorf("get of the null that was put before: got %+v", got)
		}
		if v := results[3].Verdict; v.Applied || v.Reason != kvpg.ReasonExists || string(v.Value) != "null" {
			t.Errorf("putIfAbsent over a stored null: got %+v, want exists and null", v)
		}
		if v := results[5].Verdict; !v.Applied || !v.ExpiresAt.IsZero() || v.Version != results[4].Verdict.Version {
			t.Errorf("touch: got %+v, incr was %+v", v, results[4].Verdict)
		}
		if v := results[6].Verdict; v.Applied || v.Reason != kvpg.ReasonAbsent || v.Value != nil {
			t.Errorf("delete of nothing: got %+v", v)
		}
		if got := results[7].Lookup; got.Found || got.Key != "gone" || got.Value != nil {
			t.Errorf("get of nothing: got %+v", got)
		}
		if page := results[8].Page; len(page.Entries) != 1 || string(page.Entries[0].Value) != "7" {
			t.Errorf("getPrefix: got %+v, want a with 7", page)
		}
	})
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
