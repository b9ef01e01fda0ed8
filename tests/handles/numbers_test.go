package handles

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// tenantText is the tenant's UUID, with which Namespace's String begins.
func tenantText(ns kvpg.Namespace) string {
	tenant, _, _ := strings.Cut(ns.String(), "/")
	return tenant
}

// versions: those of this database are above 2^53, and come back in every answer as they are in the row.
func versions(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	put := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "k", 1, kvpg.Forever(), nil))
	var stored string
	err := db.QueryRow(ctx, `select version::text from queen.kv where tenant_id = $1::uuid`, tenantText(ns)).Scan(&stored)
	if err != nil || len(stored) != 16 || put.Version.String() != stored {
		t.Fatalf("the verdict's version is %s, the row's %s, %v", put.Version, stored, err)
	}
	for path, got := range shown(t, db, ns, "k") {
		if got.Version != put.Version {
			t.Errorf("%s has version %s, want %s", path, got.Version, put.Version)
		}
	}
	near := must[kvpg.Version](t)(kvpg.ParseVersion(new(big.Int).Add(big.NewInt(1), toBig(stored)).String()))
	expecting := func(v kvpg.Version) *kvpg.PutOptions { return &kvpg.PutOptions{Expect: kvpg.ExpectVersion(v)} }
	lost := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "k", 2, kvpg.Forever(), expecting(near)))
	if lost.Applied || lost.Version != put.Version {
		t.Errorf("expecting the version beside it: got %+v", lost)
	}
	won := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "k", 2, kvpg.Forever(), expecting(put.Version)))
	if !won.Applied || won.Version == put.Version {
		t.Errorf("expecting the version: got %+v", won)
	}
}

func toBig(digits string) *big.Int {
	n, _ := new(big.Int).SetString(digits, 10)
	return n
}

// shown is one row as every read and every verdict that changes nothing shows it.
func shown(t *testing.T, db kvpg.DB, ns kvpg.Namespace, key string) map[string]kvpg.Entry {
	t.Helper()
	ctx := t.Context()
	all := map[string]kvpg.Entry{}
	entry, _, err := kvpg.Get(ctx, db, ns, key)
	if err != nil {
		t.Fatal(err)
	}
	all["get"] = entry
	all["getMany"] = must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, db, ns, []string{key}))[0].Entry
	if page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, db, ns, key, nil)); len(page.Entries) > 0 {
		all["getPrefix"] = page.Entries[0]
	}
	verdict := func(v kvpg.Verdict) kvpg.Entry {
		return kvpg.Entry{Key: v.Key, Value: v.Value, Version: v.Version, ExpiresAt: v.ExpiresAt}
	}
	all["putIfAbsent"] = verdict(must[kvpg.Verdict](t)(kvpg.PutIfAbsent(ctx, db, ns, key, "other", kvpg.Forever(), nil)))
	expire := kvpg.Forever()
	if !entry.ExpiresAt.IsZero() {
		expire = kvpg.TTL(time.Hour)
	}
	all["touch"] = verdict(must[kvpg.Verdict](t)(kvpg.Touch(ctx, db, ns, key, expire, nil)))
	results := must[[]kvpg.Result](t)(kvpg.Apply(ctx, db,
		kvpg.GetOp(ns, key), kvpg.GetManyOp(ns, []string{key}), kvpg.GetPrefixOp(ns, key, nil)))
	all["apply get"] = results[0].Lookup.Entry
	if len(results[1].Many.Entries) > 0 {
		all["apply getMany"] = results[1].Many.Entries[0]
	}
	if len(results[2].Page.Entries) > 0 {
		all["apply getPrefix"] = results[2].Page.Entries[0]
	}
	if len(all) != 8 {
		t.Errorf("shown in %d of 8 ways", len(all))
	}
	return all
}

// exact are numbers that a float64, an int64 or a binary fraction would change.
var exact = []string{
	"0", "9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
	"123456789012345678901234567890123456.123456789012345678", "0.1", "0.30000000000000004", "1.50", "-0.000000000000000001",
	"1" + strings.Repeat("0", 400), "0." + strings.Repeat("0", 400) + "1",
}

func numbers(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	ops := make([]kvpg.Op, len(exact))
	all := make([]any, len(exact))
	for i, text := range exact {
		ops[i] = kvpg.PutOp(ns, "n/"+text, json.RawMessage(text), kvpg.Forever(), nil)
		all[i] = json.Number(text)
	}
	for i, r := range must[[]kvpg.Result](t)(kvpg.Apply(ctx, db, ops...)) {
		if string(r.Verdict.Value) != exact[i] {
			t.Errorf("put of %.60s: the verdict has %.60s", exact[i], r.Verdict.Value)
		}
	}
	for _, entry := range must[kvpg.Page](t)(kvpg.GetPrefix(ctx, db, ns, "n/", nil)).Entries {
		if "n/"+string(entry.Value) != entry.Key {
			t.Errorf("%.60s came back as %.60s", entry.Key, entry.Value)
		}
	}

	want := "[" + strings.Join(exact, ", ") + "]"
	put := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "all", all, kvpg.Forever(), nil))
	if string(put.Value) != want {
		t.Errorf("put: the verdict has\n%s, want\n%s", put.Value, want)
	}
	for path, got := range shown(t, db, ns, "all") {
		if string(got.Value) != want {
			t.Errorf("%s has\n%s, want\n%s", path, got.Value, want)
		}
	}
	if deleted := must[kvpg.Verdict](t)(kvpg.Delete(ctx, db, ns, "all", nil)); string(deleted.Value) != want {
		t.Errorf("delete shows\n%s, want\n%s", deleted.Value, want)
	}
}

func counters(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	for _, n := range []int64{1<<53 + 1, math.MaxInt64, math.MinInt64} {
		must[kvpg.Verdict](t)(kvpg.Delete(ctx, db, ns, "n", nil)) // absent is a verdict
		bounds := &kvpg.IncrOptions{Min: &n, Max: &n}
		counted := must[kvpg.Verdict](t)(kvpg.Incr(ctx, db, ns, "n", n, kvpg.Forever(), bounds))
		if got, err := counted.Int64(); err != nil || got != n || !counted.Applied {
			t.Errorf("incr by %d within [%[1]d, %[1]d]: got %+v", n, counted)
		}
		for path, entry := range shown(t, db, ns, "n") {
			if got, err := entry.Int64(); err != nil || got != n {
				t.Errorf("%s of %d: got %d, %v", path, n, got, err)
			}
		}
	}

	// A counter may outgrow int64: it stays exact, and only Int64 complains.
	must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "n", int64(math.MaxInt64), kvpg.Forever(), nil))
	over := must[kvpg.Verdict](t)(kvpg.Incr(ctx, db, ns, "n", math.MaxInt64, kvpg.Forever(), nil))
	want := new(big.Int).Mul(big.NewInt(math.MaxInt64), big.NewInt(2)).String()
	if _, err := over.Int64(); err == nil || string(over.Value) != want {
		t.Errorf("beyond int64: got %s, %v, want %s and an error", over.Value, err, want)
	}
	// 36 digits and 18 decimals are inside the range of an incr.
	must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "n", json.Number("100000000000000000000000000000000000.000000000000000001"), kvpg.Forever(), nil))
	v := must[kvpg.Verdict](t)(kvpg.Incr(ctx, db, ns, "n", -1, kvpg.Forever(), nil))
	if want := "99999999999999999999999999999999999.000000000000000001"; string(v.Value) != want {
		t.Errorf("incr of a large decimal: got %s, want %s", v.Value, want)
	}
}
