package kvpg_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// eachTx runs f with a transaction and with a savepoint, in each mode and session.
func eachTx(t *testing.T, f func(t *testing.T, tx pgx.Tx)) {
	t.Helper()
	database := testdb.New(t, nil)
	for session, settings := range sessions {
		for _, mode := range modes {
			outer := func(t *testing.T) pgx.Tx {
				return begin(t, database.Pool(t, func(c *pgxpool.Config) {
					c.MaxConns = 1
					c.ConnConfig.DefaultQueryExecMode = mode
					for name, value := range settings {
						c.ConnConfig.RuntimeParams[name] = value
					}
				}))
			}
			t.Run("Tx/"+mode.String()+"/"+session, func(t *testing.T) {
				t.Parallel()
				f(t, outer(t))
			})
			t.Run("savepoint/"+mode.String()+"/"+session, func(t *testing.T) {
				t.Parallel()
				f(t, begin(t, outer(t)))
			})
		}
	}
}

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

func TestOnceReplaysByteForByte(t *testing.T) {
	t.Parallel()
	all := make([]byte, 1024) // more than one line of PostgreSQL's base64
	for i := range all {
		all[i] = byte(i)
	}
	results := map[string][]byte{
		"every byte": all, "nil": nil, "empty": {}, "one zero": {0}, "48,000 bytes": bytes.Repeat([]byte{0xff}, 48000),
	}
	eachTx(t, func(t *testing.T, tx pgx.Tx) {
		ns := freshSpace()
		for key, result := range results {
			r := must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), tx, ns, key, time.Hour, returning(result), nil))
			if r.Replayed || !bytes.Equal(r.Result, result) {
				t.Errorf("%s, first: got %d bytes, replayed %v", key, len(r.Result), r.Replayed)
			}
			r = must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), tx, ns, key, time.Hour, never(t), nil))
			if !r.Replayed || !bytes.Equal(r.Result, result) {
				t.Errorf("%s, replay: got %d bytes, replayed %v", key, len(r.Result), r.Replayed)
			}
		}
	})
}

func TestOnceFingerprint(t *testing.T) {
	t.Parallel()
	prints := map[string][]byte{"none": nil, "empty": {}, "one": {0, 0xff, '\\'}, "other": {0, 0xff, '/'}}
	eachTx(t, func(t *testing.T, tx pgx.Tx) {
		ns := freshSpace()
		for first, fp := range prints {
			opts := &kvpg.OnceOptions{Fingerprint: fp}
			must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), tx, ns, first, time.Hour, returning([]byte("r")), opts))
			for second, fp := range prints {
				r, err := kvpg.Once(t.Context(), tx, ns, first, time.Hour, never(t), &kvpg.OnceOptions{Fingerprint: fp})
				if first == second && (err != nil || !r.Replayed) {
					t.Errorf("%s again: got %+v, %v", first, r, err)
				}
				if first != second && (!errors.Is(err, kvpg.ErrOnceMismatch) || r.Result != nil) {
					t.Errorf("%s after %s: got %+v, %v, want a mismatch that shows nothing", second, first, r, err)
				}
			}
		}
	})
}

func TestOnceReentry(t *testing.T) {
	t.Parallel()
	eachTx(t, func(t *testing.T, tx pgx.Tx) {
		ns := freshSpace()
		outer := func(ctx context.Context) ([]byte, error) {
			_, err := kvpg.Once(ctx, tx, ns, "k", time.Hour, never(t), &kvpg.OnceOptions{Fingerprint: []byte("another")})
			if !errors.Is(err, kvpg.ErrOnceReentry) {
				t.Errorf("the same key inside: got %v, want reentry, judged before the fingerprint", err)
			}
			r, err := kvpg.Once(ctx, tx, ns, "k2", time.Hour, returning([]byte("inner")), nil)
			return r.Result, err
		}
		r := must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), tx, ns, "k", time.Hour, outer, nil))
		if string(r.Result) != "inner" {
			t.Errorf("got %q: another key inside must work", r.Result)
		}
	})
}

func TestOnceForeign(t *testing.T) {
	t.Parallel()
	eachTx(t, func(t *testing.T, tx pgx.Tx) {
		ns := freshSpace()
		must[kvpg.Verdict](t)(kvpg.Put(t.Context(), tx, ns, "k", "mine", kvpg.Forever(), nil))
		_, err := kvpg.Once(t.Context(), tx, ns, "k", time.Hour, never(t), nil)
		if !errors.Is(err, kvpg.ErrOnceForeign) {
			t.Errorf("got %v, want foreign", err)
		}
		if e, ok, err := kvpg.Get(t.Context(), tx, ns, "k"); !ok || err != nil || string(e.Value) != `"mine"` {
			t.Errorf("the value is now %s, %v, %v", e.Value, ok, err)
		}
	})
}

func TestOnceStoredErrorOfSQL(t *testing.T) {
	t.Parallel()
	eachTx(t, func(t *testing.T, tx pgx.Tx) {
		ns := freshSpace()
		var token, version int64
		err := tx.QueryRow(t.Context(), `select token from queen.kv_once_begin_v1($1::text, 'k', 60000, null, true, $2::uuid)`,
			ns.Name(), tenantText(ns)).Scan(&token)
		if err != nil {
			t.Fatal(err)
		}
		err = tx.QueryRow(t.Context(), `select queen.kv_once_end_v1($1::text, 'k', $2::bigint, 'refused'::bytea, true, $3::uuid)`,
			ns.Name(), token, tenantText(ns)).Scan(&version)
		if err != nil {
			t.Fatal(err)
		}
		_, err = kvpg.Once(t.Context(), tx, ns, "k", time.Hour, never(t), nil)
		var e *kvpg.OnceStoredError
		if !errors.As(err, &e) || string(e.Stored) != "refused" || !e.Replayed {
			t.Errorf("got %v, want the stored error with its bytes", err)
		}
	})
}

func TestOnceUnfinished(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ctx, ns := t.Context(), freshSpace()
	tx := begin(t, conn)
	_, err := kvpg.Once(ctx, tx, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
		return []byte("lost"), tx.Commit(ctx) // what nobody should do
	}, nil)
	if err == nil {
		t.Error("a commit inside the function gave no error")
	}
	second := begin(t, conn)
	if _, err := kvpg.Once(ctx, second, ns, "k", time.Hour, never(t), nil); !errors.Is(err, kvpg.ErrOnceUnfinished) {
		t.Errorf("got %v, want unfinished", err)
	}
	must[kvpg.Verdict](t)(kvpg.Delete(ctx, second, ns, "k", nil))
	r := must[kvpg.OnceResult](t)(kvpg.Once(ctx, second, ns, "k", time.Hour, returning([]byte("again")), nil))
	if r.Replayed || string(r.Result) != "again" {
		t.Errorf("after the delete: got %+v", r)
	}
}
