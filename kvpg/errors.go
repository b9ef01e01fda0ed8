package kvpg

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Code names one kind of failure, and is an error itself, so that both of these read well:
//
//	errors.Is(err, kvpg.ErrBadKey)
//	switch kvErr.Code { case kvpg.ErrBadKey: ... }
type Code string

// Error gives the code.
func (c Code) Error() string { return "kvpg: " + string(c) }

// The codes of the SQL functions. Where the driver can tell before it sends anything, it gives the same code.
const (
	ErrBadRequest          Code = "kv_bad_request"
	ErrUnknownOp           Code = "kv_unknown_op"
	ErrUnknownField        Code = "kv_unknown_field"
	ErrTenantNotAnInput    Code = "kv_tenant_not_an_input"
	ErrBadNamespace        Code = "kv_bad_namespace"
	ErrBadKey              Code = "kv_bad_key"
	ErrKeyTooLarge         Code = "kv_key_too_large"
	ErrPrefixRequired      Code = "kv_prefix_required"
	ErrExpiryNotSpecified  Code = "kv_expiry_not_specified"
	ErrBadTTL              Code = "kv_bad_ttl"
	ErrBadExpect           Code = "kv_bad_expect"
	ErrBadNumber           Code = "kv_bad_number"
	ErrValueTooLarge       Code = "kv_value_too_large"
	ErrTooManyOps          Code = "kv_too_many_ops"
	ErrTooManyKeys         Code = "kv_too_many_keys"
	ErrGetPrefixNotAllowed Code = "kv_get_prefix_not_allowed_in_transaction"

	// ErrPreconditionFailed comes as a [PreconditionError], from a write that was Required and lost.
	ErrPreconditionFailed Code = "kv_precondition_failed"

	// ErrContended: the key changed under the call sixteen times. The transaction is lost; [IsRetryable].
	ErrContended Code = "kv_contended"

	// ErrOnceLost: the marker that [Once] set was gone when it came to store the result. The transaction is lost.
	ErrOnceLost Code = "kv_once_lost"
)

// The codes of the driver.
const (
	// ErrSchema: the database has no queen.kv schema, or one that this driver can't use. The message says what to do.
	ErrSchema Code = "kv_schema"

	// ErrOnceMismatch: the key was used with another fingerprint, or one of the two calls gave none.
	ErrOnceMismatch Code = "kv_once_mismatch"

	// ErrOnceUnfinished: somebody committed between the marker and the result. Whether the effect happened is unknown, and it is
	// never run again. Delete the key to allow it.
	ErrOnceUnfinished Code = "kv_once_unfinished"

	// ErrOnceReentry: the same key is being run further up in this very transaction.
	ErrOnceReentry Code = "kv_once_reentry"

	// ErrOnceForeign: the key holds a value that Once did not write.
	ErrOnceForeign Code = "kv_once_foreign"

	// ErrOnceStoredError: the stored result is marked as an error, which SQL callers of kv_once_end_v1 can do. The bytes are in
	// the OnceResult beside the error.
	ErrOnceStoredError Code = "kv_once_stored_error"
)

// Error is what PostgreSQL, or the driver before it, had against a call. Read it with errors.As, or compare with
// errors.Is(err, ErrBadKey) and the like.
//
// An Error that came from PostgreSQL has aborted the caller's transaction, and unwraps to pgx's error. One that the driver
// gave itself unwraps to no PostgreSQL error: nothing was sent, and the transaction is as usable as before.
type Error struct {
	// Code is empty for a PostgreSQL error that is none of queen.kv's, such as a serialization failure (SQLState says which).
	Code Code

	// SQLState is PostgreSQL's five characters, also where the driver refused what PostgreSQL would have refused.
	SQLState string

	// Detail is PostgreSQL's DETAIL as it came: JSON, where Code is one of the SQL functions'.
	Detail string

	// Index is the position in Apply's ops of the op at fault, 0 for a single operation, and -1 where no op is at fault.
	Index int

	// Problem says in words what is wrong: "ttlMs must be ...". It never holds more than 100 characters of the input.
	Problem string

	// Path leads to the offending place inside a value, as in $.items[3].name. It is empty when no value is at fault.
	Path string

	cause error
}

// Error gives the code, the op and the problem. It names no key and shows no value.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("kvpg: ")
	switch {
	case e.Code != "":
		b.WriteString(string(e.Code))
	case e.cause != nil:
		b.WriteString(e.cause.Error())
	}
	if e.Index >= 0 {
		b.WriteString(": op " + strconv.Itoa(e.Index))
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	if e.Problem != "" {
		b.WriteString(": " + e.Problem)
	}
	return b.String()
}

// Unwrap gives the error underneath: pgx's, or encoding/json's for a value that can't be encoded, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, ErrBadKey) compare codes.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code != "" && code == e.Code
}

// PreconditionError says that a write which was Required lost its precondition; the caller's transaction is aborted. It
// carries the verdict. errors.Is(err, ErrPreconditionFailed) holds, and errors.As finds the *Error inside.
type PreconditionError struct {
	Index     int    // the op's position, 0 for a single operation
	Op        string // put, putIfAbsent, delete, incr or touch
	Namespace string
	Key       string
	Reason    Reason

	// Value and Version are those of the live row that stood in the way, nil and zero when there is none. Value is nil and
	// ValueTruncated true when the value was too long to be told.
	Value          json.RawMessage
	Version        Version
	ValueTruncated bool

	err *Error
}

// Error names the op and the reason, but neither key nor value.
func (e *PreconditionError) Error() string {
	return "kvpg: " + string(ErrPreconditionFailed) + ": op " + strconv.Itoa(e.Index) + ": " + e.Op + ": " + string(e.Reason)
}

// Unwrap gives the *Error.
func (e *PreconditionError) Unwrap() error { return e.err }

// IsRetryable reports whether the whole transaction, run again from its start, may succeed: SQLSTATE 40001 (serialization
// failure, kv_contended) and 40P01 (deadlock). Any error can be asked about, not only this package's.
func IsRetryable(err error) bool {
	var pg interface{ SQLState() string }
	if !errors.As(err, &pg) {
		return false
	}
	state := pg.SQLState()
	return state == "40001" || state == "40P01"
}

// refuse makes the error of a call that is never sent.
func refuse(code Code, problem string) *Error {
	state := "22023"
	if code == ErrKeyTooLarge || code == ErrValueTooLarge {
		state = "22001"
	}
	return &Error{Code: code, SQLState: state, Problem: problem, Index: 0}
}

// clip keeps at most 100 characters of a caller's text for a message.
func clip(s string) string {
	const most = 100
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}
