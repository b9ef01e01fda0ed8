package kvpg_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestRefusedCallLeavesTheTransaction says that what the driver refuses costs the caller nothing.
func TestRefusedCallLeavesTheTransaction(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ctx, ns := t.Context(), freshSpace()
	tx := begin(t, conn)
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "before", 1, kvpg.Forever(), nil))
	run := func(context.Context) ([]byte, error) { t.Error("ran"); return nil, nil }
	for name, call := range map[string]func() error{
		"key":       func() error { _, _, err := kvpg.Get(ctx, tx, ns, "\xff"); return err },
		"keys":      func() error { _, err := kvpg.GetMany(ctx, tx, ns, []string{"a\x00"}); return err },
		"prefix":    func() error { _, err := kvpg.GetPrefix(ctx, tx, ns, "", nil); return err },
		"namespace": func() error { _, _, err := kvpg.Get(ctx, tx, kvpg.Namespace{}, "k"); return err },
		"expiry":    func() error { _, err := kvpg.Touch(ctx, tx, ns, "before", kvpg.Expiry{}, nil); return err },
		"value":     func() error { _, err := kvpg.Put(ctx, tx, ns, "k", "\x00", kvpg.Forever(), nil); return err },
		"once":      func() error { _, err := kvpg.Once(ctx, tx, ns, "k", 0, run, nil); return err },
		"tenants": func() error {
			_, err := kvpg.Apply(ctx, tx, kvpg.PutOp(ns, "k", 1, kvpg.Forever(), nil), kvpg.GetOp(space, "k"))
			return err
		},
	} {
		var e *kvpg.Error
		if err := call(); !errors.As(err, &e) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "after", 1, kvpg.Forever(), nil))
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, conn, ns, "a", nil))
	if len(page.Entries) != 1 || page.Entries[0].Key != "after" {
		t.Errorf("got %+v, want what was written before and after the refusals, and nothing else", page)
	}
}

func TestSerializationFailureIsRetryable(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	ctx, ns := t.Context(), freshSpace()
	other := database.Conn(t)
	must[kvpg.Verdict](t)(kvpg.Put(ctx, other, ns, "k", 1, kvpg.Forever(), nil))
	tx := must[pgx.Tx](t)(database.Conn(t).BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))
	defer tx.Rollback(ctx)
	if _, ok, err := kvpg.Get(ctx, tx, ns, "k"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	must[kvpg.Verdict](t)(kvpg.Put(ctx, other, ns, "k", 2, kvpg.Forever(), nil))
	_, err := kvpg.Put(ctx, tx, ns, "k", 3, kvpg.Forever(), nil)
	var e *kvpg.Error
	if !kvpg.IsRetryable(err) || !errors.As(err, &e) || e.SQLState != "40001" {
		t.Errorf("got %v, want SQLSTATE 40001", err)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	if err := kvpg.CheckSchema(t.Context(), testdb.New(t, nil).Conn(t)); err != nil {
		t.Errorf("an installed schema: %v", err)
	}
	database := testdb.New(t, &testdb.Options{Empty: true})
	for _, state := range []string{"no schema", "an empty schema"} {
		conn := database.Conn(t)
		ctx := t.Context()
		_, _, getErr := kvpg.Get(ctx, conn, space, "k")
		_, applyErr := kvpg.Put(ctx, conn, space, "k", 1, kvpg.Forever(), nil)
		_, onceErr := kvpg.Once(ctx, begin(t, conn), space, "k", time.Hour, nil, nil)
		for call, err := range map[string]error{
			"CheckSchema": kvpg.CheckSchema(ctx, database.Conn(t)), "Get": getErr, "Put": applyErr, "Once": onceErr,
		} {
			if !errors.Is(err, kvpg.ErrSchema) || !strings.Contains(err.Error(), "install or migrate") {
				t.Errorf("%s, %s: got %v, want ErrSchema with the remedy", state, call, err)
			}
		}
		if state == "no schema" {
			database.Exec(t, `create schema queen`)
		}
	}
}
