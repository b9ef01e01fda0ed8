package kvpg_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

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

// tenantText is the tenant's UUID, with which Namespace's String begins.
func tenantText(ns kvpg.Namespace) string {
	tenant, _, _ := strings.Cut(ns.String(), "/")
	return tenant
}
