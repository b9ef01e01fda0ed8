package handles

import (
	"slices"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

func apply(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
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
}
