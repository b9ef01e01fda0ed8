package sweeper

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Class is what kind of error it was; a label for a metric.
type Class string

// The classes of errors.
const (
	Connection Class = "connection" // no server, or it went away: the next step takes another connection
	Timeout    Class = "timeout"    // the step's time was over, or somebody cancelled it
	Conflict   Class = "conflict"   // 40001, 40P01, 55P03
	Schema     Class = "schema"     // queen.kv is missing, or too old
	Rights     Class = "rights"     // the role may not
	Hidden     Class = "hidden"     // row-level security hides rows from the role
	ReadOnly   Class = "read_only"  // a standby, or a session that is read-only
	Config     Class = "config"     // the connection string, the password, the database, or an option is wrong
	Other      Class = "other"
)

// Classes are all of them.
func Classes() []Class {
	return []Class{Connection, Timeout, Conflict, Schema, Rights, Hidden, ReadOnly, Config, Other}
}

// Lasting tells that another attempt won't help until somebody does something.
func (c Class) Lasting() bool {
	return c == Schema || c == Rights || c == Hidden || c == ReadOnly || c == Config
}

// Error is what went wrong in a step or a check.
type Error struct {
	Doing  string // what was tried: expire, usage, check, look; or options, before anything was
	Class  Class
	Remedy string // what to do about it, in a few words; empty when there is nothing to say

	cause error
}

// Error is one line, with the remedy.
func (e *Error) Error() string {
	s := "sweeper: " + e.Doing
	if e.cause != nil { // a caller's test may make an Error without
		s += ": " + oneLine(e.cause.Error())
	}
	if e.Remedy != "" {
		s += ": " + e.Remedy
	}
	return s
}

// Unwrap gives pgx's error.
func (e *Error) Unwrap() error { return e.cause }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// errorOf wraps an error of pgx; nil stays nil, and an *Error is not wrapped again.
func errorOf(doing string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	class := ClassOf(err)
	remedy := remedies[class]
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (class == Config || class == Connection) {
		remedy = stateRemedies[pg.Code]
	}
	return &Error{Doing: doing, Class: class, Remedy: remedy, cause: err}
}

const installRemedy = "install or migrate the queen.kv schema in this database: kv-sweeper schema install (or dist/queen_kv.sql)"

var remedies = map[Class]string{
	Connection: "is the server up, and are host and port right?",
	Timeout:    "the step took too long or waited for a lock on the table; the next one is smaller",
	Schema:     installRemedy,
	Rights:     "the owner of the schema grants it: select queen.kv_grant_v1('the role', 'sweeper')",
	Hidden:     "run sql/optional/rls.sql again after the role was granted the level sweeper, which makes a policy for it",
	ReadOnly:   "connect to the primary, by a role whose default_transaction_read_only is off",
	Config:     "look at the connection string",
}

var stateRemedies = map[string]string{
	"28P01": "the password or the role is wrong",
	"28000": "the role may not connect from here: see pg_hba.conf, and whether it has LOGIN",
	"3D000": "there is no such database: look at the connection string",
	"42501": "the role may not connect to this database: grant connect on database",
	"53300": "the server has no connection left: raise max_connections, or connect through a pooler",
}

// ClassOf tells the class of an error; nil has none.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var known *Error
	if errors.As(err, &known) {
		return known.Class
	}
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return Config
	}
	var connecting *pgconn.ConnectError
	atConnect := errors.As(err, &connecting)
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return classOfState(pg, atConnect)
	}
	if atConnect {
		return Connection
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || pgconn.Timeout(err) {
		return Timeout
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgx.ErrTxClosed) || pgconn.SafeToRetry(err) {
		return Connection
	}
	if strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool") {
		return Connection
	}
	return Other
}

func classOfState(pg *pgconn.PgError, atConnect bool) Class {
	switch pg.Code {
	case "28P01", "28000", "3D000":
		return Config
	case "57014":
		return Timeout
	case "40001", "40P01", "55P03":
		return Conflict
	case "25006":
		return ReadOnly
	case "42501":
		if atConnect {
			return Config
		}
		if pg.Message == "kv_rows_hidden" {
			return Hidden
		}
		return Rights
	case "3F000", "42883", "42P01", "42703":
		return Schema
	case "57P01", "57P02", "57P03", "57P05", "53300", "25P03":
		return Connection
	}
	if strings.HasPrefix(pg.Code, "08") {
		return Connection
	}
	return Other
}

// RemedyFor says in a few words what to do about an error of the database, empty when there is nothing to say.
func RemedyFor(err error) string {
	var e *Error
	if errors.As(errorOf("", err), &e) {
		return e.Remedy
	}
	return ""
}
