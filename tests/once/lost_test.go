package once

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// lostAnswer is a transaction whose client doesn't hear what begin did: its context ends when the server has done it.
type lostAnswer struct{ kvpg.Tx }

func (tx lostAnswer) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	row := tx.Tx.QueryRow(ctx, sql, args...)
	if strings.Contains(sql, "kv_once_begin_v1") {
		return lostRow{row}
	}
	return row
}

type lostRow struct{ pgx.Row }

func (row lostRow) Scan(dest ...any) error {
	return errors.Join(row.Row.Scan(dest...), context.DeadlineExceeded)
}

// TestLostAnswerOfBegin: who drops the error and commits commits no marker, which without its result would be unfinished for good.
func TestLostAnswerOfBegin(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		tx := lostAnswer{begin(t, handle)}
		if _, err := run(t.Context(), tx, never(t), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		toldSo(t, "a lost answer", tx.Commit(t.Context()))
		isFree(t, db)
	})
}

// TestContextEndedBefore: nothing is sent, and the transaction is as usable as before.
func TestContextEndedBefore(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		tx := begin(t, handle)
		exec(t, tx, `insert into public.effect values ('before')`)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := run(ended, tx, never(t), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		commit(t, tx)
		if got := effects(t, db); got != "before" {
			t.Errorf("effects: %q", got)
		}
		isFree(t, db)
	})
}
