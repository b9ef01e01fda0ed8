package handles

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// returning is a function for Once.
func returning(result []byte) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return result, nil }
}

// never is a function for Once that must not run.
func never(t *testing.T) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		t.Error("the function ran")
		return nil, errors.New("ran")
	}
}

// once: the first runs the function, in its transaction and in later ones a replay is the same bytes.
func once(t *testing.T, h *handle) {
	ctx, ns := t.Context(), freshSpace()
	all := make([]byte, 1024) // more than one line of PostgreSQL's base64
	for i := range all {
		all[i] = byte(i)
	}
	results := map[string][]byte{
		"every byte": all, "nil": nil, "empty": {}, "one zero": {0}, "48,000 bytes": bytes.Repeat([]byte{0xff}, 48000),
	}
	replay := func(tx kvpg.Tx, when string) {
		for key, result := range results {
			r := must[kvpg.OnceResult](t)(kvpg.Once(ctx, tx, ns, key, time.Hour, never(t), nil))
			if !r.Replayed || !bytes.Equal(r.Result, result) {
				t.Errorf("%s, %s: got %d bytes, replayed %v", key, when, len(r.Result), r.Replayed)
			}
		}
	}
	inTx(t, h, func(tx kvpg.Tx) {
		for key, result := range results {
			r := must[kvpg.OnceResult](t)(kvpg.Once(ctx, tx, ns, key, time.Hour, returning(result), nil))
			if r.Replayed || !bytes.Equal(r.Result, result) {
				t.Errorf("%s, first: got %d bytes, replayed %v", key, len(r.Result), r.Replayed)
			}
		}
		replay(tx, "in the same transaction")
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	})
	inTx(t, h, func(tx kvpg.Tx) { replay(tx, "in another transaction") })
}

// onceRefused: another fingerprint, the same key inside, a value that is no marker. The transaction stays usable.
func onceRefused(t *testing.T, h *handle) {
	ns := freshSpace()
	inTx(t, h, func(tx kvpg.Tx) { refuseOnce(t, tx, ns) })
	wantKeys(t, h, ns, "again", "foreign", "print")
}

func refuseOnce(t *testing.T, tx kvpg.Tx, ns kvpg.Namespace) {
	ctx := t.Context()
	fingerprint := func(b []byte) *kvpg.OnceOptions { return &kvpg.OnceOptions{Fingerprint: b} }
	must[kvpg.OnceResult](t)(kvpg.Once(ctx, tx, ns, "print", time.Hour, returning([]byte("r")), fingerprint([]byte{0, 0xff, '\\'})))
	for _, other := range [][]byte{nil, {}, {0, 0xff, '/'}} {
		if r, err := kvpg.Once(ctx, tx, ns, "print", time.Hour, never(t), fingerprint(other)); !errors.Is(err, kvpg.ErrOnceMismatch) || r.Result != nil {
			t.Errorf("fingerprint %q: got %+v, %v, want a mismatch that shows nothing", other, r, err)
		}
	}
	if r, err := kvpg.Once(ctx, tx, ns, "print", time.Hour, never(t), fingerprint([]byte{0, 0xff, '\\'})); err != nil || !r.Replayed {
		t.Errorf("the same fingerprint: got %+v, %v", r, err)
	}
	must[kvpg.OnceResult](t)(kvpg.Once(ctx, tx, ns, "again", time.Hour, func(ctx context.Context) ([]byte, error) {
		if _, err := kvpg.Once(ctx, tx, ns, "again", time.Hour, never(t), nil); !errors.Is(err, kvpg.ErrOnceReentry) {
			t.Errorf("the same key inside: got %v, want reentry", err)
		}
		return nil, nil
	}, nil))
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "foreign", "mine", kvpg.Forever(), nil))
	if _, err := kvpg.Once(ctx, tx, ns, "foreign", time.Hour, never(t), nil); !errors.Is(err, kvpg.ErrOnceForeign) {
		t.Errorf("over another value: got %v, want foreign", err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

var errEffect = errors.New("the effect failed")

// onceFailed: a caller who drops the error of a function that has written, and commits, has committed nothing.
func onceFailed(t *testing.T, h *handle) {
	for name, fn := range map[string]func(cancel func()) ([]byte, error){
		"error":             func(func()) ([]byte, error) { return nil, errEffect },
		"panic":             func(func()) ([]byte, error) { panic(errEffect) },
		"error and context": func(cancel func()) ([]byte, error) { cancel(); return nil, errEffect },
		"context":           func(cancel func()) ([]byte, error) { cancel(); return nil, nil },
	} {
		ns := freshSpace()
		inTx(t, h, func(tx kvpg.Tx) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := swallowPanic(func() error {
				_, err := kvpg.Once(ctx, tx, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
					must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "effect", 1, kvpg.Forever(), nil))
					return fn(cancel)
				}, nil)
				return err
			})
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			if err := tx.Commit(t.Context()); err == nil {
				t.Errorf("%s: the commit succeeded", name)
			}
		})
		wantKeys(t, h, ns)
		inTx(t, h, func(tx kvpg.Tx) {
			r := must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), tx, ns, "k", time.Hour, returning(nil), nil))
			if r.Replayed {
				t.Errorf("%s: the key was not free", name)
			}
		})
	}
}

func swallowPanic(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errEffect
		}
	}()
	return f()
}
