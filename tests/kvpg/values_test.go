package kvpg_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

func TestNumbersStayExact(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		for _, n := range []int64{0, 1<<53 + 1, -(1<<53 + 1), math.MaxInt64, math.MinInt64} {
			put := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "n", n, kvpg.Forever(), nil))
			if got, err := put.Int64(); err != nil || got != n {
				t.Errorf("put %d: verdict has %d, %v", n, got, err)
			}
			e, _, err := kvpg.Get(ctx, db, ns, "n")
			if got, err2 := e.Int64(); err != nil || err2 != nil || got != n {
				t.Errorf("put %d: get has %d, %v, %v", n, got, err, err2)
			}
			many := must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, db, ns, []string{"n"}))
			if got, err := many[0].Int64(); err != nil || got != n {
				t.Errorf("put %d: getMany has %d, %v", n, got, err)
			}
			page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, db, ns, "n", nil))
			if got, err := page.Entries[0].Int64(); err != nil || got != n {
				t.Errorf("put %d: getPrefix has %d, %v", n, got, err)
			}

			must[kvpg.Verdict](t)(kvpg.Delete(ctx, db, ns, "counter", nil)) // absent is a verdict
			bounds := &kvpg.IncrOptions{Min: &n, Max: &n}
			counted := must[kvpg.Verdict](t)(kvpg.Incr(ctx, db, ns, "counter", n, kvpg.Forever(), bounds))
			if got, err := counted.Int64(); err != nil || got != n || !counted.Applied {
				t.Errorf("incr by %d within [%[1]d, %[1]d]: got %+v", n, counted)
			}
		}

		// A counter may outgrow int64: it stays exact, and only Int64 complains.
		must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "n", int64(math.MaxInt64), kvpg.Forever(), nil))
		over := must[kvpg.Verdict](t)(kvpg.Incr(ctx, db, ns, "n", math.MaxInt64, kvpg.Forever(), nil))
		want := new(big.Int).Mul(big.NewInt(math.MaxInt64), big.NewInt(2)).String()
		if _, err := over.Int64(); err == nil || string(over.Value) != want {
			t.Errorf("beyond int64: got %s, %v, want %s and an error", over.Value, err, want)
		}
	})
}

func TestVersionAboveFloatPrecision(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	database.Exec(t, `alter sequence queen.kv_version_seq restart with 9007199254740993`)
	for _, mode := range modes {
		db := database.Conn(t, func(c *pgx.ConnConfig) { c.DefaultQueryExecMode = mode })
		ctx, ns := t.Context(), freshSpace()
		put := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "k", 1, kvpg.Forever(), nil))
		var stored string
		err := db.QueryRow(ctx, `select version::text from queen.kv where tenant_id = $1::uuid`, tenantText(ns)).Scan(&stored)
		if err != nil || len(stored) != 16 || put.Version.String() != stored {
			t.Errorf("%s: the verdict's version is %s, the row's %s, %v", mode, put.Version, stored, err)
		}
		e, _, err := kvpg.Get(ctx, db, ns, "k")
		if err != nil || e.Version != put.Version {
			t.Errorf("%s: got version %s, %v, want %s", mode, e.Version, err, put.Version)
		}
		many := must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, db, ns, []string{"k"}))
		if many[0].Version != put.Version {
			t.Errorf("%s: getMany has version %s, want %s", mode, many[0].Version, put.Version)
		}
		next := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "k", 2, kvpg.Forever(), &kvpg.PutOptions{Expect: kvpg.ExpectVersion(e.Version)}))
		if !next.Applied {
			t.Errorf("%s: the version did not survive the round trip: %+v", mode, next)
		}
	}
}

// tenantText is the tenant's UUID, with which Namespace's String begins.
func tenantText(ns kvpg.Namespace) string {
	tenant, _, _ := strings.Cut(ns.String(), "/")
	return tenant
}

func TestJSONNullIsAValue(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		put := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "null", nil, kvpg.Forever(), nil))
		e, ok, err := kvpg.Get(ctx, db, ns, "null")
		if string(put.Value) != "null" || !ok || err != nil || string(e.Value) != "null" {
			t.Errorf("a stored null: put %q, get %q, %v, %v", put.Value, e.Value, ok, err)
		}
		slots := must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, db, ns, []string{"null", "none"}))
		if !slots[0].Found || string(slots[0].Value) != "null" || slots[1].Found || slots[1].Value != nil {
			t.Errorf("getMany of a stored null and of nothing: got %+v", slots)
		}
		deleted := must[kvpg.Verdict](t)(kvpg.Delete(ctx, db, ns, "null", nil))
		if !deleted.Applied || string(deleted.Value) != "null" {
			t.Errorf("delete of a stored null: got %+v", deleted)
		}
	})
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	values := map[string]any{ // expected text, in jsonb's writing: value
		`"<&>` + "\u2028" + `"`: "<&>\u2028",
		`"\\u0000"`:             `\u0000`,
		`"\\ud800"`:             json.RawMessage(`"\\ud800"`),
		`"` + "\ufffd" + `"`:    json.RawMessage(`"\ufffd"`),
		`"` + "😀" + `"`:         json.RawMessage(`"\ud83d\ude00"`),
		`"\u0001\u001f` + `"`:   "\x01\x1f",
		`"quote \" back \\ /"`:  `quote " back \ /`,
		`1.50`:                  json.RawMessage(`1.50`),
		`{"a": [], "b": {}}`:    json.RawMessage(` { "b":{}, "a" : [ ] } `),
	}
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	values[deep] = json.RawMessage(deep)
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		for want, value := range values {
			v := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "k", value, kvpg.Forever(), nil))
			e, _, err := kvpg.Get(ctx, db, ns, "k")
			if string(v.Value) != want || err != nil || string(e.Value) != want {
				t.Errorf("put %v: the verdict has %s, get %s, %v, want %s", value, v.Value, e.Value, err, want)
			}
		}
	})
}

// TestRefusalsAreThoseOfJSONB holds the driver's look at a value against the server: what the driver refuses jsonb can't read,
// and what it lets pass jsonb can, so that no valid JSON aborts the caller's transaction with a raw error.
func TestRefusalsAreThoseOfJSONB(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	conn := database.Conn(t)
	ctx, ns := t.Context(), freshSpace()
	texts := []string{
		`"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `{"\u0000": 1}`,
		`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800\udc00"`, `"\udbff\udfff"`, `"\ud800x\udc00"`, `"\ud800\\udc00"`,
		`"\ud800\n"`, `"\udc00\ud800"`, `"\uD834\uDD1E"`, `"\ud7ff"`, `"\ue000"`, `"\uffff"`,
		`1e131071`, `1e131072`, `9.9e131071`, `-1e131071`, `-1e131072`, `10e131070`, `10e131071`, `0.1e131072`, `0.1e131073`,
		`0.001e131074`, `0.001e131075`, `1e-16383`, `1e-16384`, `1.5e-16382`, `1.5e-16383`, `0e131072`, `0e999999`, `0.0e999999`,
		`0e-16384`, `0.000e131080`, `-0`, `0e1000000000`, `1e1000000000`, `1e2000000000`, `1e99999999999999999999`,
		strings.Repeat("9", 131072), strings.Repeat("9", 131073), "0." + strings.Repeat("1", 16383), "0." + strings.Repeat("1", 16384),
	}
	for _, text := range texts {
		var stored bool
		serverErr := conn.QueryRow(ctx, `select $1::text::jsonb is not null`, text).Scan(&stored)
		tx := begin(t, conn)
		_, err := kvpg.Put(ctx, tx, ns, "k", json.RawMessage(text), kvpg.Forever(), nil)
		var kvErr *kvpg.Error
		errors.As(err, &kvErr)
		switch refused := kvErr != nil && kvErr.Unwrap() == nil; {
		case refused != (serverErr != nil):
			t.Errorf("%.40s: the driver says %v, jsonb %v", text, err, serverErr)
		case refused && (kvErr.Code != kvpg.ErrBadRequest || usable(t, tx) != nil):
			t.Errorf("%.40s: got %v, and the transaction %v", text, err, usable(t, tx))
		case !refused && kvErr != nil && kvErr.Code != kvpg.ErrValueTooLarge:
			t.Errorf("%.40s: got %v, want nothing worse than kv_value_too_large", text, err)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// usable reports what is wrong with a transaction.
func usable(t *testing.T, tx pgx.Tx) error {
	var one int
	return tx.QueryRow(t.Context(), `select 1`).Scan(&one)
}
