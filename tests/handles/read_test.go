package handles

import (
	"slices"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// oddKeys would break a text[] literal, a LIKE pattern, a JSON string or a comparison that is not by bytes.
var oddKeys = []string{
	`a"b\c`, `{a,b}`, "NULL", " ", "\n\t\x01\x7f", "'; --", "100%_\\", "é", "e\u0301", "日本", "\U0001F600", "\u2028",
	"\ufffd", "\uffff", "\U0010FFFF", "$1", `\u0000`, "Z", "a",
}

func getMany(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
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
}

func getPrefix(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
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
		opts := &kvpg.GetPrefixOptions{Limit: 7, KeysOnly: keysOnly}
		for {
			page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, db, ns, "p/", opts))
			for _, e := range page.Entries {
				got = append(got, e.Key)
				if (e.Value == nil) != keysOnly || e.Version.IsZero() || e.UpdatedAt.IsZero() || !e.ExpiresAt.IsZero() {
					t.Errorf("keysOnly %v: got %+v", keysOnly, e)
				}
			}
			if page.Truncated != (page.NextAfter != "") || page.Truncated && len(page.Entries) != 7 {
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
}
