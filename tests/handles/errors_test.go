package handles

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

// refusedBeforeSending: what the driver refuses costs the caller nothing, the transaction goes on.
func refusedBeforeSending(t *testing.T, h *handle) {
	ns := freshSpace()
	inTx(t, h, func(tx kvpg.Tx) { refuse(t, tx, ns) })
	wantKeys(t, h, ns, "after", "before")
}

func refuse(t *testing.T, tx kvpg.Tx, ns kvpg.Namespace) {
	ctx := t.Context()
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "before", 1, kvpg.Forever(), nil))
	for name, c := range map[string]struct {
		code kvpg.Code
		call func() error
	}{
		"key":       {kvpg.ErrBadKey, func() error { _, _, err := kvpg.Get(ctx, tx, ns, "\xff"); return err }},
		"keys":      {kvpg.ErrBadKey, func() error { _, err := kvpg.GetMany(ctx, tx, ns, []string{"a\x00"}); return err }},
		"long key":  {kvpg.ErrKeyTooLarge, func() error { _, err := kvpg.Delete(ctx, tx, ns, strings.Repeat("k", 2049), nil); return err }},
		"prefix":    {kvpg.ErrPrefixRequired, func() error { _, err := kvpg.GetPrefix(ctx, tx, ns, "", nil); return err }},
		"namespace": {kvpg.ErrBadNamespace, func() error { _, _, err := kvpg.Get(ctx, tx, kvpg.Namespace{}, "k"); return err }},
		"expiry":    {kvpg.ErrExpiryNotSpecified, func() error { _, err := kvpg.Touch(ctx, tx, ns, "before", kvpg.Expiry{}, nil); return err }},
		"ttl":       {kvpg.ErrBadTTL, func() error { _, err := kvpg.Incr(ctx, tx, ns, "k", 1, kvpg.TTL(0), nil); return err }},
		"retention": {kvpg.ErrBadTTL, func() error { _, err := kvpg.Once(ctx, tx, ns, "k", 0, never(t), nil); return err }},
		"tenants": {kvpg.ErrBadRequest, func() error {
			_, err := kvpg.Apply(ctx, tx, kvpg.PutOp(ns, "k", 1, kvpg.Forever(), nil), kvpg.GetOp(space, "k"))
			return err
		}},
	} {
		var e *kvpg.Error
		if err := c.call(); !errors.As(err, &e) || e.Code != c.code || e.Unwrap() != nil {
			t.Errorf("%s: got %v, want %s of the driver's own", name, err, c.code)
		}
	}
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "after", 1, kvpg.Forever(), nil))
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// refusedBySQL: what only the server sees has its code, op, problem and detail, over every driver, and aborts the transaction.
func refusedBySQL(t *testing.T, h *handle) {
	ns := freshSpace()
	tooMany := make([]kvpg.Op, 257)
	for i := range tooMany {
		tooMany[i] = kvpg.GetOp(ns, "k")
	}
	for name, c := range map[string]struct {
		ops   []kvpg.Op
		code  kvpg.Code
		state string
		index int
	}{
		"a value": {
			[]kvpg.Op{kvpg.PutOp(ns, "first", 1, kvpg.Forever(), nil), kvpg.PutOp(ns, "k", strings.Repeat("v", 65536), kvpg.Forever(), nil)},
			kvpg.ErrValueTooLarge, "22001", 1,
		},
		"257 ops": {tooMany, kvpg.ErrTooManyOps, "22023", -1},
	} {
		h.mayFail(t, func(db kvpg.DB) {
			_, err := kvpg.Apply(t.Context(), db, c.ops...)
			wantError(t, name, err, c.code, c.state, c.index)
		})
		inTx(t, h, func(tx kvpg.Tx) {
			must[kvpg.Verdict](t)(kvpg.Put(t.Context(), tx, ns, "before", 1, kvpg.Forever(), nil))
			if _, err := kvpg.Apply(t.Context(), tx, c.ops...); !errors.Is(err, c.code) {
				t.Errorf("%s in a transaction: got %v", name, err)
			}
			_, _, err := kvpg.Get(t.Context(), tx, ns, "before")
			wantError(t, name+", then a read", err, "", "25P02", -1)
			if err := tx.Commit(t.Context()); err == nil {
				t.Errorf("%s: the commit of the aborted transaction succeeded", name)
			}
		})
	}
	wantKeys(t, h, ns)
}

func wantError(t *testing.T, what string, err error, code kvpg.Code, state string, index int) {
	t.Helper()
	var e *kvpg.Error
	var driver interface{ SQLState() string }
	if !errors.As(err, &e) || !errors.As(e.Unwrap(), &driver) || driver.SQLState() != state {
		t.Errorf("%s: got %v, want an Error over the driver's with SQLSTATE %s", what, err, state)
		return
	}
	if e.Code != code || e.SQLState != state || e.Index != index || code != "" && (e.Problem == "" || !json.Valid([]byte(e.Detail))) {
		t.Errorf("%s: got %+v, want code %q, SQLSTATE %s, index %d, a problem and a detail of JSON", what, e, code, state, index)
	}
}

func required(t *testing.T, h *handle) {
	ctx, ns := t.Context(), freshSpace()
	live := committed(t, h, ns, "key", map[string]int64{"n": 1<<53 + 1})
	var err error
	h.mayFail(t, func(db kvpg.DB) {
		_, err = kvpg.Apply(ctx, db,
			kvpg.PutOp(ns, "written", 1, kvpg.Forever(), nil),
			kvpg.PutIfAbsentOp(ns, "key", 1, kvpg.Forever(), &kvpg.PutIfAbsentOptions{Required: true}))
	})
	var p *kvpg.PreconditionError
	if !errors.As(err, &p) || !errors.Is(err, kvpg.ErrPreconditionFailed) || kvpg.IsRetryable(err) {
		t.Fatalf("got %v, want a PreconditionError", err)
	}
	if p.Index != 1 || p.Op != "putIfAbsent" || p.Namespace != ns.Name() || p.Key != "key" || p.Reason != kvpg.ReasonExists ||
		p.Version != live.Version || string(p.Value) != `{"n": 9007199254740993}` || p.ValueTruncated {
		t.Errorf("got %+v", p)
	}
	var e *kvpg.Error
	if !errors.As(err, &e) || e.SQLState != "23514" {
		t.Errorf("no *Error with the SQLSTATE inside: %+v", e)
	}
	wantKeys(t, h, ns, "key")
}

// rewriting is a handle that changes what is sent: the way to errors that no call of the driver makes at will.
type rewriting struct {
	kvpg.DB
	sql  string
	args []any
}

func (r rewriting) QueryRow(ctx context.Context, _ string, _ ...any) pgx.Row {
	return r.DB.QueryRow(ctx, r.sql, r.args...)
}

// retryable: of what the server can say, 40001 and 40P01 alone mean that the transaction should run again.
func retryable(t *testing.T, h *handle) {
	for state, c := range map[string]struct {
		message string
		code    kvpg.Code
		want    bool
	}{
		"40001": {"kv_contended", kvpg.ErrContended, true},
		"40P01": {"deadlock detected", "", true},
		"55P03": {"lock not available", "", false},
		"57014": {"canceling statement", "", false},
		"23505": {"duplicate key", "", false},
		"55000": {"kv_once_lost", kvpg.ErrOnceLost, false},
	} {
		detail := `{"index": 3, "problem": "it is \"so\""}`
		var err error
		h.mayFail(t, func(db kvpg.DB) {
			db = rewriting{db, `select public.fail($1::text, $2::text, $3::text)`, []any{state, c.message, detail}}
			_, err = kvpg.Put(t.Context(), db, space, "k", 1, kvpg.Forever(), nil)
		})
		if kvpg.IsRetryable(err) != c.want {
			t.Errorf("%s: retryable is %v", state, !c.want)
		}
		index := -1
		if c.code != "" {
			index = 3
		}
		wantError(t, state, err, c.code, state, index)
		var e *kvpg.Error
		if errors.As(err, &e) && e.Detail != detail {
			t.Errorf("%s: the detail is %s, want %s", state, e.Detail, detail)
		}
	}
}

// cancelled: a context that has ended is the error, as it is.
func cancelled(t *testing.T, h *handle) {
	ns := freshSpace()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	inTx(t, h, func(tx kvpg.Tx) {
		_, err := kvpg.Put(ctx, tx, ns, "k", 1, kvpg.Forever(), nil)
		var e *kvpg.Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &e) || kvpg.IsRetryable(err) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
	wantKeys(t, h, ns)
}

func missingSchema(t *testing.T, h *handle) {
	ctx := t.Context()
	for name, call := range map[string]func(kvpg.DB) error{
		"CheckSchema": func(db kvpg.DB) error { return kvpg.CheckSchema(ctx, db) },
		"Get":         func(db kvpg.DB) error { _, _, err := kvpg.Get(ctx, db, space, "k"); return err },
		"GetMany":     func(db kvpg.DB) error { _, err := kvpg.GetMany(ctx, db, space, []string{"k"}); return err },
		"Put":         func(db kvpg.DB) error { _, err := kvpg.Put(ctx, db, space, "k", 1, kvpg.Forever(), nil); return err },
	} {
		h.mayFail(t, func(db kvpg.DB) { wantNoSchema(t, name, call(db)) })
	}
	inTx(t, h, func(tx kvpg.Tx) {
		_, err := kvpg.Once(ctx, tx, space, "k", time.Hour, never(t), nil)
		wantNoSchema(t, "Once", err)
	})
}

func wantNoSchema(t *testing.T, name string, err error) {
	t.Helper()
	if !errors.Is(err, kvpg.ErrSchema) || !strings.Contains(err.Error(), "install or migrate") {
		t.Errorf("%s: got %v, want ErrSchema with the remedy", name, err)
	}
}
