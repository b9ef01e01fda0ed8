package kvpg_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// rewriting is a handle that changes what is sent: the way to faults that the driver's types can't express.
type rewriting struct {
	kvpg.DB
	change func(sql string, args []any) (string, []any)
}

func (r rewriting) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	sql, args = r.change(sql, args)
	return r.DB.QueryRow(ctx, sql, args...)
}

// rawOps sends other ops than it is given.
func rawOps(db kvpg.DB, ops string) kvpg.DB {
	return rewriting{db, func(sql string, args []any) (string, []any) { return sql, append([]any{ops}, args[1:]...) }}
}

// TestServerCodes states, for each code that the server alone raises, what the Go caller gets.
func TestServerCodes(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	conn := database.Conn(t)
	get := `{"op": "get", "ns": "n", "key": "k"}`
	raw := func(ops string) func(context.Context, pgx.Tx) error {
		return func(ctx context.Context, tx pgx.Tx) error {
			_, err := kvpg.Apply(ctx, rawOps(tx, ops), kvpg.GetOp(space, "k"))
			return err
		}
	}
	big := strings.Repeat("v", 65536) // with its quotes above 65,536 bytes
	cases := []struct {
		name  string
		call  func(context.Context, pgx.Tx) error
		code  kvpg.Code
		state string
		index int
	}{
		{"not an array", raw(`{}`), kvpg.ErrBadRequest, "22023", -1},
		{"not an object", raw(`[` + get + `, 7]`), kvpg.ErrBadRequest, "22023", 1},
		{"unknown op", raw(`[` + get + `, {"op": "nope"}]`), kvpg.ErrUnknownOp, "22023", 1},
		{"unknown field", raw(`[{"op": "get", "ns": "n", "key": "k", "expct": 1}]`), kvpg.ErrUnknownField, "22023", 0},
		{"tenant", raw(`[{"op": "get", "ns": "n", "key": "k", "tenant": "x"}]`), kvpg.ErrTenantNotAnInput, "22023", 0},
		{"namespace", raw(`[{"op": "get", "ns": "N", "key": "k"}]`), kvpg.ErrBadNamespace, "22023", 0},
		{"key", raw(`[` + get + `, ` + get + `, {"op": "get", "ns": "n", "key": ""}]`), kvpg.ErrBadKey, "22023", 2},
		{"long key", raw(`[{"op": "get", "ns": "n", "key": "` + strings.Repeat("k", 2049) + `"}]`), kvpg.ErrKeyTooLarge, "22001", 0},
		{"prefix", raw(`[{"op": "getPrefix", "ns": "n", "prefix": ""}]`), kvpg.ErrPrefixRequired, "22023", 0},
		{"no expiry", raw(`[{"op": "put", "ns": "n", "key": "k", "value": 1}]`), kvpg.ErrExpiryNotSpecified, "22023", 0},
		{"ttl", raw(`[{"op": "put", "ns": "n", "key": "k", "value": 1, "ttlMs": 0}]`), kvpg.ErrBadTTL, "22023", 0},
		{"expect", raw(`[{"op": "put", "ns": "n", "key": "k", "value": 1, "forever": true, "expect": -1}]`), kvpg.ErrBadExpect, "22023", 0},
		{"number", raw(`[{"op": "incr", "ns": "n", "key": "k", "delta": 1e37, "forever": true}]`), kvpg.ErrBadNumber, "22023", 0},
		{"prefix in wire", func(ctx context.Context, tx pgx.Tx) error {
			inWire := rewriting{tx, func(_ string, args []any) (string, []any) {
				return `select queen.kv_apply_v1($1::jsonb, $2::uuid, null, true)::text`, args
			}}
			_, err := kvpg.GetPrefix(ctx, inWire, space, "p", nil)
			return err
		}, kvpg.ErrGetPrefixNotAllowed, "22023", 0},
		{"257 ops", func(ctx context.Context, tx pgx.Tx) error {
			ops := make([]kvpg.Op, 257)
			for i := range ops {
				ops[i] = kvpg.GetOp(space, "k")
			}
			_, err := kvpg.Apply(ctx, tx, ops...)
			return err
		}, kvpg.ErrTooManyOps, "22023", -1},
		{"4,097 keys", func(ctx context.Context, tx pgx.Tx) error {
			_, err := kvpg.Apply(ctx, tx, kvpg.GetManyOp(space, strings.Split(strings.Repeat("k,", 4096)+"k", ",")))
			return err
		}, kvpg.ErrTooManyKeys, "22023", anyIndex},
		{"value", func(ctx context.Context, tx pgx.Tx) error {
			_, err := kvpg.Apply(ctx, tx, kvpg.GetOp(space, "k"), kvpg.PutOp(space, "k", big, kvpg.Forever(), nil))
			return err
		}, kvpg.ErrValueTooLarge, "22001", 1},
		{"a result of Once", func(ctx context.Context, tx pgx.Tx) error {
			_, err := kvpg.Once(ctx, tx, freshSpace(), "k", time.Hour, func(context.Context) ([]byte, error) {
				return make([]byte, 48001), nil
			}, nil)
			return err
		}, kvpg.ErrValueTooLarge, "22001", -1},
		{"Once whose marker is deleted", func(ctx context.Context, tx pgx.Tx) error {
			ns := freshSpace()
			_, err := kvpg.Once(ctx, tx, ns, "k", time.Hour, func(ctx context.Context) ([]byte, error) {
				_, err := kvpg.Delete(ctx, tx, ns, "k", nil)
				return nil, err
			}, nil)
			return err
		}, kvpg.ErrOnceLost, "55000", -1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tx := begin(t, conn)
			err := c.call(t.Context(), tx)
			var e *kvpg.Error
			var pg *pgconn.PgError
			if !errors.Is(err, c.code) || !errors.As(err, &e) || !errors.As(err, &pg) {
				t.Fatalf("got %v, want %s over pgx's error", err, c.code)
			}
			if e.Code != c.code || e.SQLState != c.state || c.index != anyIndex && e.Index != c.index || e.Problem == "" || !json.Valid([]byte(e.Detail)) {
				t.Errorf("got %+v, want %s, %s, index %d, a problem and a detail of JSON", e, c.code, c.state, c.index)
			}
			if err := tx.Commit(t.Context()); !errors.Is(err, pgx.ErrTxCommitRollback) {
				t.Errorf("commit gave %v, want pgx.ErrTxCommitRollback", err)
			}
		})
	}
}

// anyIndex is for a fault of the whole call, for which the contract leaves open whether an op is named.
const anyIndex = -2
