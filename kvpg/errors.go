package kvpg

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/queenkv/queenkv/kvpg/internal/sqlstate"
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

// Is makes errors.Is(err, ErrPreconditionFailed) hold, for one that a caller's test made as well.
func (e *PreconditionError) Is(target error) bool { return target == error(ErrPreconditionFailed) }

// Unwrap gives the *Error, and nil where a caller made the PreconditionError.
func (e *PreconditionError) Unwrap() error {
	if e.err == nil {
		return nil // and not a nil *Error, which would be an error
	}
	return e.err
}

// IsRetryable reports whether the whole transaction, run again from its start, may succeed: SQLSTATE 40001 (serialization
// failure, kv_contended) and 40P01 (deadlock), anywhere in what err wraps or joins. Any error can be asked about, not only this
// package's. [RunTx] is the retry.
func IsRetryable(err error) bool {
	return sqlstate.Any(err, func(state string) bool { return state == "40001" || state == "40P01" })
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
