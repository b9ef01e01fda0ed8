package kvpg

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// OnceOptions are the options of [Once].
type OnceOptions struct {
	// Fingerprint tells one request from another that reuses its key: a hash of the request's body, or the body. Only its
	// SHA-256 is stored. nil is none, which differs from empty and from any other.
	Fingerprint []byte
}

// OnceResult is what the function returned, now or the first time.
type OnceResult struct {
	Result   []byte
	Replayed bool // the function did not run; Result is what it returned to the first caller, byte for byte
}

// The bytes cross as base64 text, which is the same in every execution mode.
const (
	onceBeginSQL = `select state, token, encode(result, 'base64'), is_error
  from queen.kv_once_begin_v1($1::text, $2::text, $3::bigint, decode($4::text, 'base64'), true, $5::uuid)`

	onceEndSQL = `select queen.kv_once_end_v1($1::text, $2::text, $3::bigint, decode($4::text, 'base64'), false, $5::uuid)`
)

// abortTimeout bounds the call that makes a failed transaction uncommittable, which must be made although the caller's
// context may have ended.
const abortTimeout = 5 * time.Second

// Once runs fn at most once per key within the retention time, in the caller's transaction, and gives every later caller the
// result that fn returned:
//
//	r, err := kvpg.Once(ctx, tx, deliveries, id, 30*24*time.Hour, func(ctx context.Context) ([]byte, error) {
//		return book(ctx, tx, event)
//	}, nil)
//
// fn must do its work in tx. The marker, the effect and the result are committed together when the caller commits, or not
// at all: a rollback or a crash frees the key. A caller that meets the same key in another, unfinished transaction waits for
// it to end, and then replays the result or, when that one rolled back, runs fn itself.
//
// When fn fails, its error is returned as it is, and when it panics the panic goes on; in both cases the transaction can no
// longer be committed, not even by a caller who drops the error: pgx answers Commit with pgx.ErrTxCommitRollback, and
// what ran in a savepoint can't be released. (Once makes PostgreSQL raise an error for that, and only if the server can't be
// asked it rolls tx back.) Roll back, as after any error.
//
// Refused, with nothing written and the transaction still usable: [ErrOnceMismatch], [ErrOnceUnfinished], [ErrOnceReentry]
// and [ErrOnceForeign]. A result of more than 48,000 bytes fails ([ErrValueTooLarge]), and the effect with it.
//
// retention is rounded up to milliseconds, above zero and at most 100 years. It must outlive every retry; when it has passed,
// fn runs again. Above READ COMMITTED a caller that waited gets SQLSTATE 40001 ([IsRetryable]), and its next try replays.
// When a COMMIT is lost with the connection, run it again with the same key.
func Once(ctx context.Context, tx Tx, ns Namespace, key string, retention time.Duration,
	fn func(ctx context.Context) ([]byte, error), opts *OnceOptions,
) (OnceResult, error) {
	call, fault := newOnceCall(ns, key, retention, opts)
	if fault != nil {
		fault.Index = -1
		return OnceResult{}, fault
	}
	state, token, stored, err := call.begin(ctx, tx)
	if err != nil {
		return OnceResult{}, mapError(err)
	}
	switch state {
	case "run":
		return call.run(ctx, tx, token, fn)
	case "replay":
		return OnceResult{Result: stored, Replayed: true}, nil
	case "storedError":
		return OnceResult{Result: stored, Replayed: true},
			&Error{Code: ErrOnceStoredError, Index: -1, Problem: "the stored result is an error"}
	}
	return OnceResult{}, onceRefusal(state)
}

type onceCall struct {
	ns          Namespace
	key         string
	ttlMs       int64
	fingerprint any // base64, or nil for none
}

func newOnceCall(ns Namespace, key string, retention time.Duration, opts *OnceOptions) (*onceCall, *Error) {
	if fault := checkNamespace(ns); fault != nil {
		return nil, fault
	}
	if fault := checkKey(key); fault != nil {
		return nil, fault
	}
	ttlMs, fault := ttlMillis(retention)
	if fault != nil {
		return nil, fault
	}
	c := &onceCall{ns: ns, key: key, ttlMs: ttlMs}
	if opts != nil && opts.Fingerprint != nil {
		c.fingerprint = base64.StdEncoding.EncodeToString(opts.Fingerprint)
	}
	return c, nil
}

// begin gives the state; a replay of a stored error is told apart as one of its own.
func (c *onceCall) begin(ctx context.Context, tx Tx) (state string, token int64, stored []byte, err error) {
	var tokenOrNull *int64
	var result *string
	var isError *bool
	err = tx.QueryRow(ctx, onceBeginSQL, c.ns.name, c.key, c.ttlMs, c.fingerprint, c.ns.tenantText()).
		Scan(&state, &tokenOrNull, &result, &isError)
	if err != nil {
		return "", 0, nil, err
	}
	if tokenOrNull != nil {
		token = *tokenOrNull
	}
	if result != nil {
		// PostgreSQL breaks base64 into lines, which Go's decoder skips.
		if stored, err = base64.StdEncoding.DecodeString(*result); err != nil {
			return "", 0, nil, fmt.Errorf("kvpg: reading the answer of kv_once_begin_v1: %w", err)
		}
	}
	if state == "replay" && isError != nil && *isError {
		state = "storedError"
	}
	return state, token, stored, nil
}

// run holds the promise that a transaction in which fn or the storing of its result failed is never committed. The deferred
// call recovers nothing: a panic, or runtime.Goexit, goes on with its own stack.
func (c *onceCall) run(ctx context.Context, tx Tx, token int64, fn func(context.Context) ([]byte, error)) (OnceResult, error) {
	finished := false
	defer func() {
		if !finished {
			c.abort(ctx, tx)
		}
	}()
	result, err := fn(ctx)
	if err != nil {
		return OnceResult{}, err
	}
	if err := c.end(ctx, tx, token, result); err != nil {
		return OnceResult{}, mapError(err)
	}
	finished = true
	return OnceResult{Result: result}, nil
}

func (c *onceCall) end(ctx context.Context, tx Tx, token int64, result []byte) error {
	var version int64
	return tx.QueryRow(ctx, onceEndSQL, c.ns.name, c.key, token,
		base64.StdEncoding.EncodeToString(result), c.ns.tenantText()).Scan(&version)
}

// abort makes tx uncommittable: no marker has token 0, so kv_once_end_v1 raises kv_once_lost. An error that did not come from
// the server has not aborted anything (the connection may be busy with rows that fn left open); then only a rollback is left,
// which also closes a connection that can't take it.
func (c *onceCall) abort(ctx context.Context, tx Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	var raised interface{ SQLState() string }
	if err := c.end(ctx, tx, 0, nil); !errors.As(err, &raised) {
		_ = tx.Rollback(ctx) // the caller gets the error of fn, and every use of tx fails
	}
}

func onceRefusal(state string) error {
	e := &Error{Index: -1}
	switch state {
	case "mismatch":
		e.Code, e.Problem = ErrOnceMismatch, "the key was used with another fingerprint"
	case "unfinished":
		e.Code, e.Problem = ErrOnceUnfinished, "an earlier run was committed without its result; delete the key to run again"
	case "reentry":
		e.Code, e.Problem = ErrOnceReentry, "the key is already being run in this transaction"
	case "foreign":
		e.Code, e.Problem = ErrOnceForeign, "the key holds a value that Once did not write"
	default:
		return fmt.Errorf("kvpg: kv_once_begin_v1 answered a state that this driver does not know: %q", clip(state))
	}
	return e
}
