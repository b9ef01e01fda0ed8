package handles

import (
	"testing"

	"github.com/queenkv/queenkv/kvpg"
)

// committed makes a row that other transactions see: on the handle itself, or where that is a transaction in one of its own.
func committed(t *testing.T, h *handle, ns kvpg.Namespace, key string, value any) (v kvpg.Verdict) {
	t.Helper()
	if !h.isTx {
		return must[kvpg.Verdict](t)(kvpg.Put(t.Context(), h.DB, ns, key, value, kvpg.Forever(), nil))
	}
	inTx(t, h, func(tx kvpg.Tx) {
		v = must[kvpg.Verdict](t)(kvpg.Put(t.Context(), tx, ns, key, value, kvpg.Forever(), nil))
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return v
}

// commitAndRollback: an operation on a transaction is part of it; on anything else it is committed when it returns.
func commitAndRollback(t *testing.T, h *handle) {
	ctx, ns := t.Context(), freshSpace()
	for key, end := range map[string]func(kvpg.Tx) error{
		"kept":   func(tx kvpg.Tx) error { return tx.Commit(ctx) },
		"undone": func(tx kvpg.Tx) error { return tx.Rollback(ctx) },
	} {
		inTx(t, h, func(tx kvpg.Tx) {
			must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, key, 1, kvpg.Forever(), nil))
			if _, seen, err := kvpg.Get(ctx, tx, ns, key); !seen || err != nil {
				t.Errorf("%s: not seen in its own transaction, %v", key, err)
			}
			if err := end(tx); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	committed(t, h, ns, "put", 1)
	wantKeys(t, h, ns, "kept", "put")
}
