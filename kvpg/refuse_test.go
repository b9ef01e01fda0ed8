package kvpg

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

var ns = NewNamespace("unit")

// TestRefusedBeforeSending states the contract's codes for every argument that the driver looks at, in every operation.
func TestRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	keyOps := map[string]func(DB, Namespace, string) error{
		"Get": func(db DB, ns Namespace, key string) error { _, _, err := Get(ctx, db, ns, key); return err },
		"GetMany": func(db DB, ns Namespace, key string) error {
			_, err := GetMany(ctx, db, ns, []string{"ok", key})
			return err
		},
		"GetManyOp": func(db DB, ns Namespace, key string) error {
			_, err := Apply(ctx, db, GetManyOp(ns, []string{"ok", key}))
			return err
		},
		"Put": func(db DB, ns Namespace, key string) error {
			_, err := Put(ctx, db, ns, key, 1, Forever(), nil)
			return err
		},
		"PutIfAbsent": func(db DB, ns Namespace, key string) error {
			_, err := PutIfAbsent(ctx, db, ns, key, 1, Forever(), nil)
			return err
		},
		"Delete": func(db DB, ns Namespace, key string) error { _, err := Delete(ctx, db, ns, key, nil); return err },
		"Incr": func(db DB, ns Namespace, key string) error {
			_, err := Incr(ctx, db, ns, key, 1, Forever(), nil)
			return err
		},
		"Touch": func(db DB, ns Namespace, key string) error {
			_, err := Touch(ctx, db, ns, key, Forever(), nil)
			return err
		},
	}
	for op, call := range keyOps {
		for name, c := range map[string]struct {
			ns   Namespace
			key  string
			code Code
		}{
			"zero namespace": {Namespace{}, "k", ErrBadNamespace},
			"empty key":      {ns, "", ErrBadKey},
			"not UTF-8":      {ns, "k\xff", ErrBadKey},
			"NUL":            {ns, "k\x00", ErrBadKey},
			"2,049 bytes":    {ns, strings.Repeat("k", 2049), ErrKeyTooLarge},
		} {
			wantRefusal(t, op+": "+name, call(silent(t), c.ns, c.key), c.code)
		}
	}

	expiryOps := map[string]func(DB, Expiry) error{
		"Put":         func(db DB, e Expiry) error { _, err := Put(ctx, db, ns, "k", 1, e, nil); return err },
		"PutIfAbsent": func(db DB, e Expiry) error { _, err := PutIfAbsent(ctx, db, ns, "k", 1, e, nil); return err },
		"Incr":        func(db DB, e Expiry) error { _, err := Incr(ctx, db, ns, "k", 1, e, nil); return err },
		"Touch":       func(db DB, e Expiry) error { _, err := Touch(ctx, db, ns, "k", e, nil); return err },
	}
	for op, call := range expiryOps {
		wantRefusal(t, op+": zero expiry", call(silent(t), Expiry{}), ErrExpiryNotSpecified)
		wantRefusal(t, op+": zero ttl", call(silent(t), TTL(0)), ErrBadTTL)
		wantRefusal(t, op+": negative ttl", call(silent(t), TTL(-time.Second)), ErrBadTTL)
		wantRefusal(t, op+": above 100 years", call(silent(t), TTL(3_155_760_000*time.Second+1)), ErrBadTTL)
	}

	_, err := Put(ctx, silent(t), ns, "k", "\x00", Forever(), nil)
	wantRefusal(t, "Put: U+0000", err, ErrBadRequest)
	_, err = PutIfAbsent(ctx, silent(t), ns, "k", "\xff", Forever(), nil)
	wantRefusal(t, "PutIfAbsent: not UTF-8", err, ErrBadRequest)
	_, err = GetPrefix(ctx, silent(t), ns, "", nil)
	wantRefusal(t, "GetPrefix: empty", err, ErrPrefixRequired)
	_, err = GetPrefix(ctx, silent(t), ns, "p\x00", nil)
	wantRefusal(t, "GetPrefix: NUL", err, ErrBadKey)
	_, err = GetPrefix(ctx, silent(t), ns, "p\xff", nil)
	wantRefusal(t, "GetPrefix: not UTF-8", err, ErrBadKey)
	_, err = GetPrefix(ctx, silent(t), ns, strings.Repeat("p", 2049), nil)
	wantRefusal(t, "GetPrefix: too long", err, ErrKeyTooLarge)
	_, err = GetPrefix(ctx, silent(t), ns, "p", &GetPrefixOptions{After: "\xff"})
	wantRefusal(t, "GetPrefix: after not UTF-8", err, ErrBadRequest)
	_, err = GetMany(ctx, silent(t), ns, make([]string, 4097))
	wantRefusal(t, "GetMany: empty keys", err, ErrBadKey)
	_, err = GetMany(ctx, silent(t), ns, strings.Split(strings.Repeat("k ", 4097)[:2*4097-1], " "))
	wantRefusal(t, "GetMany: 4,097 keys", err, ErrTooManyKeys)
}

func wantRefusal(t *testing.T, what string, err error, code Code) {
	t.Helper()
	state := "22023"
	if code == ErrKeyTooLarge {
		state = "22001"
	}
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, code) {
		t.Errorf("%s: got %v, want %s", what, err, code)
		return
	}
	if e.Code != code || e.SQLState != state || e.Index != 0 || e.Problem == "" || e.Unwrap() != nil {
		t.Errorf("%s: got %+v, want code %s, SQLSTATE %s, index 0, a problem and no cause", what, e, code, state)
	}
	if IsRetryable(err) {
		t.Errorf("%s: retryable", what)
	}
}

func TestOnceRefusedBeforeSending(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ns        Namespace
		key       string
		retention time.Duration
		code      Code
	}{
		"zero namespace":  {Namespace{}, "k", time.Hour, ErrBadNamespace},
		"empty key":       {ns, "", time.Hour, ErrBadKey},
		"not UTF-8":       {ns, "\xff", time.Hour, ErrBadKey},
		"zero retention":  {ns, "k", 0, ErrBadTTL},
		"above 100 years": {ns, "k", maxTTL + 1, ErrBadTTL},
	} {
		_, err := Once(context.Background(), &fakeTx{fakeDB: silent(t)}, c.ns, c.key, c.retention, nil, nil)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || e.Index != -1 {
			t.Errorf("%s: got %v, want %s without an index", name, err, c.code)
		}
	}
}

func TestApplyNamesTheFirstBadOp(t *testing.T) {
	t.Parallel()
	tenant := ns.For([16]byte{9})
	for name, c := range map[string]struct {
		ops   []Op
		index int
		code  Code
	}{
		"bad key in the third":       {[]Op{GetOp(ns, "a"), GetOp(ns, "b"), GetOp(ns, "")}, 2, ErrBadKey},
		"two bad ones":               {[]Op{GetOp(ns, "a"), PutOp(ns, "k", 1, TTL(0), nil), GetOp(ns, "")}, 1, ErrBadTTL},
		"two faults in one op":       {[]Op{PutOp(ns, "", "\x00", Expiry{}, nil)}, 0, ErrBadKey},
		"expiry before value":        {[]Op{PutOp(ns, "k", "\x00", Expiry{}, nil)}, 0, ErrExpiryNotSpecified},
		"namespace before key":       {[]Op{GetOp(Namespace{}, "")}, 0, ErrBadNamespace},
		"prefix before after":        {[]Op{GetPrefixOp(ns, "", &GetPrefixOptions{After: "\xff"})}, 0, ErrPrefixRequired},
		"another tenant":             {[]Op{GetOp(ns, "a"), GetOp(tenant, "a")}, 1, ErrBadRequest},
		"the zero Op":                {[]Op{GetOp(ns, "a"), {}}, 1, ErrBadRequest},
		"a value, with its position": {[]Op{GetOp(ns, "a"), PutOp(ns, "k", []string{"", "\x00"}, Forever(), nil)}, 1, ErrBadRequest},
	} {
		_, err := Apply(context.Background(), silent(t), c.ops...)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || e.Index != c.index {
			t.Errorf("%s: got %v, want %s at op %d", name, err, c.code, c.index)
		}
	}
}

func TestNothingAskedNothingSent(t *testing.T) {
	t.Parallel()
	if r, err := Apply(context.Background(), silent(t)); r != nil || err != nil {
		t.Errorf("Apply: got %v, %v", r, err)
	}
	if r, err := GetMany(context.Background(), silent(t), ns, nil); r != nil || err != nil {
		t.Errorf("GetMany: got %v, %v", r, err)
	}
}
