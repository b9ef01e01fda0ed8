package once

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestCeiling: 48,000 bytes are stored, as a result and as an error; one more fails, and the effect with it. DiscardResult stores
// "done" alone, whatever the size.
func TestCeiling(t *testing.T) {
	t.Parallel()
	const ceiling = 48_000
	taking := &kvpg.OnceOptions{StoreError: func(err error) ([]byte, bool) { return []byte(err.Error()), true }}
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		call := func(name string, size int, asError bool, opts *kvpg.OnceOptions) (kvpg.OnceResult, error) {
			return kvpg.OnceTx(t.Context(), handle, space, name, retention, func(ctx context.Context, tx kvpg.Tx) ([]byte, error) {
				if _, err := write(tx, name)(ctx); err != nil {
					return nil, err
				}
				if asError {
					return nil, errors.New(string(bytes.Repeat([]byte("e"), size)))
				}
				return bytes.Repeat([]byte{0xff}, size), nil
			}, opts)
		}
		for i := range 2 {
			if r, err := call("most", ceiling, false, nil); err != nil || len(r.Result) != ceiling || r.Replayed != (i == 1) {
				t.Errorf("call %d at the ceiling: got %d bytes, %v", i, len(r.Result), err)
			}
			if _, err := call("over", ceiling+1, false, nil); !errors.Is(err, kvpg.ErrValueTooLarge) {
				t.Errorf("call %d above the ceiling: got %v", i, err)
			}
			r, err := call("discarded", 20*ceiling, false, &kvpg.OnceOptions{DiscardResult: true})
			if i == 0 && (err != nil || len(r.Result) != 20*ceiling || r.Replayed || r.Discarded) {
				t.Errorf("discarded, first: got %d bytes, %v", len(r.Result), err)
			}
			if i == 1 && (err != nil || r.Result != nil || !r.Replayed || !r.Discarded) {
				t.Errorf("discarded, replay: got %d bytes, discarded %v, %v", len(r.Result), r.Discarded, err)
			}
			var stored *kvpg.OnceStoredError
			if _, err := call("error", ceiling, true, taking); !errors.As(err, &stored) || len(stored.Stored) != ceiling {
				t.Errorf("call %d of an error at the ceiling: got %.100v", i, err)
			}
			if _, err := call("big error", ceiling+1, true, taking); !errors.Is(err, kvpg.ErrValueTooLarge) || errors.As(err, &stored) {
				t.Errorf("call %d of an error above the ceiling: got %.100v", i, err)
			}
		}
		if got := effects(t, db); got != "discarded most" {
			t.Errorf("effects: %q", got)
		}
		// A result that is stored is replayed to those who would have discarded it.
		if r, err := call("most", 0, false, &kvpg.OnceOptions{DiscardResult: true}); err != nil || len(r.Result) != ceiling || r.Discarded {
			t.Errorf("got %d bytes, discarded %v, %v", len(r.Result), r.Discarded, err)
		}
	})
}
