package once

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// failures are the ways in which a function fails after it has written.
var failures = map[string]func(ctx context.Context, tx kvpg.Tx) ([]byte, error){
	"error": func(context.Context, kvpg.Tx) ([]byte, error) { return nil, errEffect },
	"panic": func(context.Context, kvpg.Tx) ([]byte, error) { panic(errEffect) },
	"error of a statement": func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
		_, err := tx.Exec(ctx, `select 1 / 0`)
		return nil, err
	},
	"result too large": func(context.Context, kvpg.Tx) ([]byte, error) { return make([]byte, 48_001), nil },
}

// swallow is what a careless caller does with Once.
func swallow(ctx context.Context, tx kvpg.Tx, fail func(context.Context, kvpg.Tx) ([]byte, error)) (failed bool) {
	defer func() { failed = recover() != nil || failed }()
	_, err := run(ctx, tx, func(ctx context.Context) ([]byte, error) {
		if _, err := write(tx, "half")(ctx); err != nil {
			return nil, err
		}
		return fail(ctx, tx)
	}, nil)
	return err != nil
}

// TestSwallowedError: who drops the error and commits has committed nothing, and is told so.
func TestSwallowedError(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		for name, fail := range failures {
			tx := begin(t, handle)
			exec(t, tx, `insert into public.effect values ('before')`)
			if !swallow(t.Context(), tx, fail) {
				t.Errorf("%s: Once did not fail", name)
			}
			err := tx.Commit(t.Context())
			toldSo(t, name, err)

			err = kvpg.RunTx(t.Context(), handle, func(ctx context.Context, tx kvpg.Tx) error {
				swallow(ctx, tx, fail)
				return nil
			}, nil)
			toldSo(t, name+", in RunTx", err)
			if errors.Is(err, kvpg.ErrCommitUnknown) {
				t.Errorf("%s: %v, though nothing is committed for certain", name, err)
			}
			if got := effects(t, db); got != "" {
				t.Errorf("%s: effects: %q", name, got)
			}
			isFree(t, db)
		}
	})
}

// toldSo: pgx has a name for it, and lib/pq a sentence.
func toldSo(t *testing.T, name string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: commit gave no error", name)
		return
	}
	if !errors.Is(err, pgx.ErrTxCommitRollback) && err.Error() != "pq: could not complete operation in a failed transaction" {
		t.Errorf("%s: commit gave %v", name, err)
	}
}
