package kvpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func raising(err error) fakeDB {
	return func(context.Context, string, []any, []any) error { return err }
}

func mapped(t *testing.T, cause error) error {
	t.Helper()
	_, err := Apply(context.Background(), raising(cause), GetOp(ns, "k"))
	if err == nil {
		t.Fatal("no error")
	}
	return err
}

func TestMapErrorKeepsEveryCode(t *testing.T) {
	t.Parallel()
	codes := map[Code]string{
		ErrBadRequest: "22023", ErrUnknownOp: "22023", ErrUnknownField: "22023", ErrTenantNotAnInput: "22023",
		ErrBadNamespace: "22023", ErrBadKey: "22023", ErrPrefixRequired: "22023", ErrExpiryNotSpecified: "22023",
		ErrBadTTL: "22023", ErrBadExpect: "22023", ErrBadNumber: "22023", ErrTooManyOps: "22023", ErrTooManyKeys: "22023",
		ErrGetPrefixNotAllowed: "22023", ErrKeyTooLarge: "22001", ErrValueTooLarge: "22001",
		ErrContended: "40001", ErrOnceLost: "55000", ErrLeaseLost: "55000",
		"kv_of_a_later_release": "22023",
	}
	for code, state := range codes {
		cause := &pgconn.PgError{Code: state, Message: string(code), Detail: `{"index": 3, "problem": "it is wrong"}`}
		err := mapped(t, fmt.Errorf("on the way: %w", cause))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %T", code, err)
			continue
		}
		if e.Code != code || e.SQLState != state || e.Detail != cause.Detail || e.Index != 3 || e.Problem != "it is wrong" {
			t.Errorf("%s: got %+v", code, e)
		}
		var pg *pgconn.PgError
		if !errors.Is(err, code) || !errors.As(err, &pg) || pg != cause {
			t.Errorf("%s: the code or pgx's error is not found in the chain", code)
		}
		if got, want := IsRetryable(err), code == ErrContended; got != want {
			t.Errorf("%s: retryable %v", code, got)
		}
		if code != ErrBadKey && errors.Is(err, ErrBadKey) {
			t.Errorf("%s is ErrBadKey", code)
		}
	}
}

func TestMapErrorWithoutIndex(t *testing.T) {
	t.Parallel()
	for _, detail := range []string{`{"problem": "not an array"}`, "", "no JSON"} {
		var e *Error
		err := mapped(t, &pgconn.PgError{Code: "22023", Message: "kv_bad_request", Detail: detail})
		if !errors.As(err, &e) || e.Index != -1 || e.Detail != detail {
			t.Errorf("%q: got %+v", detail, e)
		}
	}
}

func TestMapErrorOfPostgreSQLItself(t *testing.T) {
	t.Parallel()
	for state, retryable := range map[string]bool{
		"40001": true, "40P01": true, "55P03": false, "57014": false, "42501": false,
		"08006": false, "08007": false, "57P01": false, // they may come after the commit
	} {
		err := mapped(t, &pgconn.PgError{Severity: "ERROR", Code: state, Message: "could not do it"})
		var e *Error
		if !errors.As(err, &e) || e.Code != "" || e.SQLState != state || e.Index != -1 {
			t.Errorf("%s: got %+v, want an Error without a code", state, err)
		}
		if IsRetryable(err) != retryable {
			t.Errorf("%s: retryable %v", state, !retryable)
		}
		if errors.Is(err, Code("")) {
			t.Errorf("%s: matches an empty code", state)
		}
		if want := "kvpg: ERROR: could not do it (SQLSTATE " + state + ")"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

func TestMapErrorLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{context.Canceled, io.ErrUnexpectedEOF} {
		err := mapped(t, cause)
		var e *Error
		if !errors.Is(err, cause) || errors.As(err, &e) {
			t.Errorf("got %v, want %v and no *Error", err, cause)
		}
		if IsRetryable(cause) {
			t.Errorf("%v is retryable", cause)
		}
	}
}

// otherDriver is an error of a driver that shares only SQLState with pgx.
type otherDriver struct{ state, text string }

func (e otherDriver) Error() string    { return e.text }
func (e otherDriver) SQLState() string { return e.state }

func TestMapErrorOfAnotherDriver(t *testing.T) {
	t.Parallel()
	err := mapped(t, otherDriver{"22001", "pq: kv_value_too_large (22001)"})
	if !errors.Is(err, ErrValueTooLarge) {
		t.Errorf("got %v, want kv_value_too_large", err)
	}
}

// fieldsDriver is an error of a driver that also gives the message's fields, as lib/pq does.
type fieldsDriver struct {
	otherDriver
	fields map[byte]string
}

func (e fieldsDriver) Get(field byte) string { return e.fields[field] }

func TestMapErrorByFields(t *testing.T) {
	t.Parallel()
	detail := `{"index": 1, "op": "put", "ns": "unit", "key": "k", "reason": "exists", "version": 7, "value": 9007199254740993}`
	err := mapped(t, fieldsDriver{otherDriver{"23514", "pq: something else (23514)"},
		map[byte]string{'M': "kv_precondition_failed", 'D': detail}})
	var p *PreconditionError
	if !errors.As(err, &p) || p.Index != 1 || p.Reason != ReasonExists || string(p.Value) != "9007199254740993" {
		t.Errorf("got %v, want the verdict of the detail", err)
	}

	err = mapped(t, fieldsDriver{otherDriver{"42501", "pq: a table that is named kv_bad_key"},
		map[byte]string{'M': `permission denied for table kv_bad_key`}})
	var e *Error
	if !errors.As(err, &e) || e.Code != "" || e.SQLState != "42501" {
		t.Errorf("got %+v, want no code: the whole message is none", err)
	}
}

func TestMapErrorOfAMissingSchema(t *testing.T) {
	t.Parallel()
	cases := []struct {
		state, message string
		want           bool
	}{
		{"3F000", `schema "queen" does not exist`, true},
		{"42883", `function queen.kv_apply_v1(jsonb, uuid) does not exist`, true},
		{"42P01", `relation "queen.kv" does not exist`, true},
		{"42883", `function billing.total(integer) does not exist`, false},
		{"42P01", `relation "orders" does not exist`, false},
		{"3F000", `schema "billing" does not exist`, false},
	}
	for _, c := range cases {
		err := mapped(t, &pgconn.PgError{Code: c.state, Message: c.message})
		if got := errors.Is(err, ErrSchema); got != c.want {
			t.Errorf("%s: ErrSchema is %v, want %v", c.message, got, c.want)
		}
	}
}

func TestMapPreconditionFailed(t *testing.T) {
	t.Parallel()
	detail := `{"index": 2, "op": "put", "ns": "unit", "key": "k", "reason": "version", "version": 9007199254740993, "value": {"n": 9007199254740993}}`
	err := mapped(t, &pgconn.PgError{Code: "23514", Message: "kv_precondition_failed", Detail: detail})
	var p *PreconditionError
	if !errors.As(err, &p) {
		t.Fatalf("got %T", err)
	}
	if p.Index != 2 || p.Op != "put" || p.Namespace != "unit" || p.Key != "k" || p.Reason != ReasonVersion ||
		p.Version.String() != "9007199254740993" || string(p.Value) != `{"n": 9007199254740993}` || p.ValueTruncated {
		t.Errorf("got %+v", p)
	}
	var e *Error
	if !errors.Is(err, ErrPreconditionFailed) || !errors.As(err, &e) || e.SQLState != "23514" || e.Index != 2 {
		t.Errorf("no *Error with the code inside: %+v", e)
	}

	for _, c := range []struct {
		what, detail string
		value        string
		truncated    bool
	}{
		{"absent", `{"index": 0, "op": "touch", "ns": "unit", "key": "k", "reason": "absent", "version": 0, "value": null}`, "", false},
		{"JSON null", `{"index": 0, "op": "put", "ns": "unit", "key": "k", "reason": "exists", "version": 7, "value": null}`, "null", false},
		{"too long", `{"index": 0, "op": "put", "ns": "unit", "key": "k", "reason": "exists", "version": 7, "valueTruncated": true}`, "", true},
	} {
		err := mapped(t, &pgconn.PgError{Code: "23514", Message: "kv_precondition_failed", Detail: c.detail})
		if !errors.As(err, &p) || string(p.Value) != c.value || p.ValueTruncated != c.truncated {
			t.Errorf("%s: got %+v", c.what, p)
		}
	}
}

func TestCheckSchemaVersion(t *testing.T) {
	t.Parallel()
	for have, usable := range map[int]bool{0: false, 1: true, 2: true} {
		err := CheckSchema(context.Background(), fakeDB(func(_ context.Context, _ string, _, dest []any) error {
			*dest[0].(*int) = have
			return nil
		}))
		if usable != (err == nil) || !usable && !errors.Is(err, ErrSchema) {
			t.Errorf("version %d: got %v", have, err)
		}
	}
}
