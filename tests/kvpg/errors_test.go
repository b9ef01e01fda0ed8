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

func TestRequired(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db kvpg.DB) {
		ctx, ns := t.Context(), freshSpace()
		live := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "key", map[string]int64{"n": 1<<53 + 1}, kvpg.Forever(), nil))
		_, err := kvpg.Apply(ctx, db,
			kvpg.PutOp(ns, "written", 1, kvpg.Forever(), nil),
			kvpg.PutIfAbsentOp(ns, "key", 1, kvpg.Forever(), &kvpg.PutIfAbsentOptions{Required: true}))
		var p *kvpg.PreconditionError
		if !errors.As(err, &p) || !errors.Is(err, kvpg.ErrPreconditionFailed) || kvpg.IsRetryable(err) {
			t.Fatalf("got %v, want a PreconditionError", err)
		}
		if p.Index != 1 || p.Op != "putIfAbsent" || p.Namespace != ns.Name() || p.Key != "key" || p.Reason != kvpg.ReasonExists ||
			p.Version != live.Version || string(p.Value) != `{"n": 9007199254740993}` || p.ValueTruncated {
			t.Errorf("got %+v", p)
		}
	})
}

func TestRequiredOfEveryWrite(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ns := freshSpace()
	long := strings.Repeat("v", 5000)
	must[kvpg.Verdict](t)(kvpg.Put(t.Context(), conn, ns, "long", long, kvpg.Forever(), nil))
	zero := int64(0)
	cases := map[string]struct {
		op     kvpg.Op
		reason kvpg.Reason
	}{
		"put":         {kvpg.PutOp(ns, "long", 1, kvpg.Forever(), &kvpg.PutOptions{Expect: kvpg.ExpectAbsent(), Required: true}), kvpg.ReasonExists},
		"putIfAbsent": {kvpg.PutIfAbsentOp(ns, "long", 1, kvpg.Forever(), &kvpg.PutIfAbsentOptions{Required: true}), kvpg.ReasonExists},
		"delete":      {kvpg.DeleteOp(ns, "none", &kvpg.DeleteOptions{Required: true}), kvpg.ReasonAbsent},
		"incr":        {kvpg.IncrOp(ns, "none", 1, kvpg.Forever(), &kvpg.IncrOptions{Max: &zero, Required: true}), kvpg.ReasonLimit},
		"touch":       {kvpg.TouchOp(ns, "none", kvpg.Forever(), &kvpg.TouchOptions{Required: true}), kvpg.ReasonAbsent},
	}
	for name, c := range cases {
		_, err := kvpg.Apply(t.Context(), conn, c.op)
		var p *kvpg.PreconditionError
		if !errors.As(err, &p) {
			t.Errorf("%s: got %v, want a PreconditionError", name, err)
			continue
		}
		onLong := p.Key == "long"
		if p.Op != name || p.Reason != c.reason || p.ValueTruncated != onLong || p.Value != nil || p.Version.IsZero() == onLong {
			t.Errorf("%s: got %+v, want %s; the 5,000 bytes are not told", name, p, c.reason)
		}
	}
}

// TestRefusedCallLeavesTheTransaction says that what the driver refuses costs the caller nothing.
func TestRefusedCallLeavesTheTransaction(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ctx, ns := t.Context(), freshSpace()
	tx := begin(t, conn)
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "before", 1, kvpg.Forever(), nil))
	run := func(context.Context) ([]byte, error) { t.Error("ran"); return nil, nil }
	for name, call := range map[string]func() error{
		"key":       func() error { _, _, err := kvpg.Get(ctx, tx, ns, "\xff"); return err },
		"keys":      func() error { _, err := kvpg.GetMany(ctx, tx, ns, []string{"a\x00"}); return err },
		"prefix":    func() error { _, err := kvpg.GetPrefix(ctx, tx, ns, "", nil); return err },
		"namespace": func() error { _, _, err := kvpg.Get(ctx, tx, kvpg.Namespace{}, "k"); return err },
		"expiry":    func() error { _, err := kvpg.Touch(ctx, tx, ns, "before", kvpg.Expiry{}, nil); return err },
		"value":     func() error { _, err := kvpg.Put(ctx, tx, ns, "k", "\x00", kvpg.Forever(), nil); return err },
		"once":      func() error { _, err := kvpg.Once(ctx, tx, ns, "k", 0, run, nil); return err },
		"tenants": func() error {
			_, err := kvpg.Apply(ctx, tx, kvpg.PutOp(ns, "k", 1, kvpg.Forever(), nil), kvpg.GetOp(space, "k"))
			return err
		},
	} {
		var e *kvpg.Error
		if err := call(); !errors.As(err, &e) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "after", 1, kvpg.Forever(), nil))
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	page := must[kvpg.Page](t)(kvpg.GetPrefix(ctx, conn, ns, "a", nil))
	if len(page.Entries) != 1 || page.Entries[0].Key != "after" {
		t.Errorf("got %+v, want what was written before and after the refusals, and nothing else", page)
	}
}

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

func TestSchema(t *testing.T) {
	t.Parallel()
	if err := kvpg.CheckSchema(t.Context(), testdb.New(t, nil).Conn(t)); err != nil {
		t.Errorf("an installed schema: %v", err)
	}
	database := testdb.New(t, &testdb.Options{Empty: true})
	for _, state := range []string{"no schema", "an empty schema"} {
		conn := database.Conn(t)
		ctx := t.Context()
		_, _, getErr := kvpg.Get(ctx, conn, space, "k")
		_, applyErr := kvpg.Put(ctx, conn, space, "k", 1, kvpg.Forever(), nil)
		_, onceErr := kvpg.Once(ctx, begin(t, conn), space, "k", time.Hour, nil, nil)
		for call, err := range map[string]error{
			"CheckSchema": kvpg.CheckSchema(ctx, database.Conn(t)), "Get": getErr, "Put": applyErr, "Once": onceErr,
		} {
			if !errors.Is(err, kvpg.ErrSchema) || !strings.Contains(err.Error(), "install or migrate") {
				t.Errorf("%s, %s: got %v, want ErrSchema with the remedy", state, call, err)
			}
		}
		if state == "no schema" {
			database.Exec(t, `create schema queen`)
		}
	}
}
