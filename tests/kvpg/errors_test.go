package kvpg_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

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
