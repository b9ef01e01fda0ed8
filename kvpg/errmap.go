package kvpg

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// mapError is the one place where a database error becomes this package's. Errors that PostgreSQL did not send (a cancelled
// context, a lost connection, a closed transaction) go through as they are.
func mapError(err error) error {
	if err == nil {
		return nil
	}
	pg, ok := serverErrorOf(err)
	if !ok {
		return err
	}
	e := &Error{SQLState: pg.state, Detail: pg.detail, Index: -1, cause: err}
	switch {
	case isMissingSchema(pg):
		e.Code = ErrSchema
		e.Problem = pg.message + "; " + schemaRemedy
	case codeForm.MatchString(pg.message):
		e.Code = Code(pg.message)
		readDetail(e)
	}
	if e.Code == ErrPreconditionFailed {
		return preconditionOf(e)
	}
	return e
}

// codeForm is the MESSAGE of an error that a queen.kv function raised. A code that this release doesn't know is kept as well.
var codeForm = regexp.MustCompile(`^kv_[a-z0-9_]+$`)

type serverError struct {
	state, message, detail string
}

// stater is what the errors that PostgreSQL sent have in pgx, in lib/pq and in pgx's adapter for database/sql.
type stater interface {
	error
	SQLState() string
}

// fielder gives a field of PostgreSQL's error message by its letter in the protocol. lib/pq's errors have it.
type fielder interface {
	Get(field byte) string
}

// serverErrorOf reads an error that PostgreSQL sent. Only the SQLSTATE has an interface that all drivers share: the message
// and the detail are read from pgx's type, or by lib/pq's method. Of any other driver the code is looked for in the text, and
// there is no detail.
func serverErrorOf(err error) (serverError, bool) {
	var sent stater
	if !errors.As(err, &sent) || sent.SQLState() == "" {
		return serverError{}, false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return serverError{pg.Code, pg.Message, pg.Detail}, true
	}
	if fields, ok := sent.(fielder); ok {
		return serverError{sent.SQLState(), fields.Get('M'), fields.Get('D')}, true
	}
	message := sent.Error()
	for word := range strings.FieldsSeq(message) {
		if codeForm.MatchString(word) {
			message = word
			break
		}
	}
	return serverError{state: sent.SQLState(), message: message}, true
}

// readDetail takes index and problem out of a DETAIL of the form {"index": 3, "problem": "ttlMs must be ..."}.
func readDetail(e *Error) {
	var detail struct {
		Index   *int   `json:"index"`
		Problem string `json:"problem"`
	}
	if json.Unmarshal([]byte(e.Detail), &detail) != nil {
		return
	}
	if detail.Index != nil {
		e.Index = *detail.Index
	}
	e.Problem = detail.Problem
}

// preconditionOf reads the verdict out of the DETAIL. Where that can't be read, the *Error has to do.
func preconditionOf(e *Error) error {
	var d struct {
		Index          int             `json:"index"`
		Op             string          `json:"op"`
		NS             string          `json:"ns"`
		Key            string          `json:"key"`
		Reason         Reason          `json:"reason"`
		Version        int64           `json:"version"`
		Value          json.RawMessage `json:"value"`
		ValueTruncated bool            `json:"valueTruncated"`
	}
	if json.Unmarshal([]byte(e.Detail), &d) != nil {
		return e
	}
	p := &PreconditionError{
		Index: d.Index, Op: d.Op, Namespace: d.NS, Key: d.Key, Reason: d.Reason,
		Version: Version{d.Version}, ValueTruncated: d.ValueTruncated, err: e,
	}
	if d.Version != 0 {
		p.Value = d.Value
	}
	return p
}

// isMissingSchema tells an absent queen.kv (no such schema, function or table) from the same states raised by the caller's own
// objects.
func isMissingSchema(pg serverError) bool {
	switch pg.state {
	case "3F000":
		return strings.Contains(pg.message, "queen")
	case "42883", "42P01":
		return strings.Contains(pg.message, "queen.kv")
	}
	return false
}
