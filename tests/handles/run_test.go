package handles

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// runTx: the function's transaction is committed; a serialization failure runs it again, whole; another error rolls back.
func runTx(t *testing.T, h *handle) {
	ns := freshSpace()
	var b kvpg.Beginner[kvpg.Tx] = h
	runs := 0
	err := kvpg.RunTx(t.Context(), b, func(ctx context.Context, tx kvpg.Tx) error {
		runs++
		if _, err := kvpg.Incr(ctx, tx, ns, "runs", 1, kvpg.Forever(), nil); err != nil {
			return err
		}
		if runs == 1 {
			_, err := kvpg.Put(ctx, rewriting{tx, `select public.fail($1::text, $2::text, $3::text)`, []any{"40001", "again", "{}"}},
				ns, "k", 1, kvpg.Forever(), nil)
			return err
		}
		return nil
	}, nil)
	if err != nil || runs != 2 {
		t.Errorf("%d runs, %v, want two", runs, err)
	}
	err = kvpg.RunTx(t.Context(), b, func(ctx context.Context, tx kvpg.Tx) error {
		_, err := kvpg.Incr(ctx, tx, ns, "runs", 1, kvpg.Forever(), nil)
		return errors.Join(err, errEffect)
	}, nil)
	if !errors.Is(err, errEffect) {
		t.Errorf("got %v, want the function's error", err)
	}
	inTx(t, h, func(tx kvpg.Tx) {
		entry, _, err := kvpg.Get(t.Context(), tx, ns, "runs")
		if n, _ := entry.Int64(); err != nil || n != 1 {
			t.Errorf("%d runs were committed, %v, want one", n, err)
		}
	})
}

// onceTx: once, committed, and replayed.
func onceTx(t *testing.T, h *handle) {
	ns := freshSpace()
	var b kvpg.Beginner[kvpg.Tx] = h
	for _, replayed := range []bool{false, true} {
		r, err := kvpg.OnceTx(t.Context(), b, ns, "k", time.Hour, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
			v, err := kvpg.Incr(ctx, tx, ns, "effects", 1, kvpg.Forever(), nil)
			return v.Value, err
		}, nil)
		if err != nil || r.Replayed != replayed || string(r.Result) != "1" {
			t.Errorf("got %+v, %v, want 1, replayed %v", r, err, replayed)
		}
	}
	wantKeys(t, h, ns, "effects", "k")
}

// onceOptions: a stored error undoes what the function did and no more, and a discarded result replays as one.
func onceOptions(t *testing.T, h *handle) {
	ctx, ns := t.Context(), freshSpace()
	opts := &kvpg.OnceOptions{StoreError: func(err error) ([]byte, bool) { return []byte("declined\x00"), errors.Is(err, errEffect) }}
	inTx(t, h, func(tx kvpg.Tx) {
		must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "before", 1, kvpg.Forever(), nil))
		for _, replayed := range []bool{false, true} {
			_, err := kvpg.Once(ctx, tx, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
				_, err := kvpg.Put(ctx, tx, ns, "effect", 1, kvpg.Forever(), nil)
				return nil, errors.Join(err, errEffect)
			}, opts)
			var stored *kvpg.OnceStoredError
			if !errors.As(err, &stored) || stored.Replayed != replayed || string(stored.Stored) != "declined\x00" {
				t.Errorf("got %v, want the stored error, replayed %v", err, replayed)
			}
		}
		large := make([]byte, 60_000)
		for _, replayed := range []bool{false, true} {
			r, err := kvpg.Once(ctx, tx, ns, "large", time.Hour, returning(large), &kvpg.OnceOptions{DiscardResult: true})
			if err != nil || r.Replayed != replayed || r.Discarded != replayed || (len(r.Result) == len(large)) == replayed {
				t.Errorf("discarded: got %d bytes, %v, %v, %v", len(r.Result), r.Replayed, r.Discarded, err)
			}
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	})
	wantKeys(t, h, ns, "before", "k", "large")
}
