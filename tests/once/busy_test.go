package once

import (
	"context"
	"errors"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestBusy: while another transaction has the key the answer is busy, whatever the fingerprint; it harms nothing. Afterwards it is
// what it would have been without Busy.
func TestBusy(t *testing.T) {
	t.Parallel()
	busy := &kvpg.OnceOptions{Busy: true, Fingerprint: []byte("one")}
	another := &kvpg.OnceOptions{Busy: true, Fingerprint: []byte("another")}
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		for _, level := range levels {
			db.Exec(t, `delete from public.effect; delete from queen.kv`)
			first := begin(t, over(db.Conn(t)))
			mustRun(t, first, write(first, "first"), &kvpg.OnceOptions{Fingerprint: []byte("one")})

			tx := begin(t, at(level, handle))
			for range 2 {
				for _, opts := range []*kvpg.OnceOptions{busy, another} {
					r, err := run(t.Context(), tx, never(t), opts)
					if !errors.Is(err, kvpg.ErrOnceBusy) || r.Result != nil || r.Replayed {
						t.Errorf("%s: got %+v, %v, want busy", level, r, err)
					}
				}
			}
			exec(t, tx, `insert into public.effect values ('beside')`)
			commit(t, tx)
			commit(t, first)
			if got := effects(t, db); got != "beside first" {
				t.Errorf("%s: effects: %q", level, got)
			}

			tx = begin(t, at(level, handle))
			if r := mustRun(t, tx, never(t), busy); string(r.Result) != "first" || !r.Replayed {
				t.Errorf("%s: got %+v, want the first's result", level, r)
			}
			if _, err := run(t.Context(), tx, never(t), another); !errors.Is(err, kvpg.ErrOnceMismatch) {
				t.Errorf("%s: got %v, want a mismatch", level, err)
			}
			commit(t, tx)
		}
	})
}

// TestBusyRuns: a Busy caller that finds the key free runs; others find it busy, or wait for it and replay.
func TestBusyRuns(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	pool := over(db.Pool(t))
	first := begin(t, pool)
	var waiting *call
	mustRun(t, first, func(ctx context.Context) ([]byte, error) {
		if _, err := run(ctx, first, never(t), &kvpg.OnceOptions{Busy: true}); !errors.Is(err, kvpg.ErrOnceReentry) {
			t.Errorf("in the same transaction: got %v, want reentry", err)
		}
		_, err := kvpg.OnceTx(ctx, pool, space, key, retention, func(context.Context, kvpg.Tx) ([]byte, error) {
			t.Error("it ran inside itself")
			return nil, nil
		}, &kvpg.OnceOptions{Busy: true})
		if !errors.Is(err, kvpg.ErrOnceBusy) {
			t.Errorf("in another transaction: got %v, want busy", err)
		}
		waiting = background(t, db, pool, func(kvpg.Tx) func(context.Context) ([]byte, error) { return never(t) })
		return write(first, "first")(ctx)
	}, &kvpg.OnceOptions{Busy: true})
	commit(t, first)
	waiting.returned(t)
	if waiting.err != nil || string(waiting.result.Result) != "first" {
		t.Errorf("the waiting one got %+v, %v", waiting.result, waiting.err)
	}
	commit(t, waiting.tx)
}
