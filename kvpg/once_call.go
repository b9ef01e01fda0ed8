package kvpg

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// The bytes cross as base64 text, which is the same in every execution mode.
const (
	onceBeginSQL = `select state, token, encode(result, 'base64'), is_error
  from queen.kv_once_begin_v1($1::text, $2::text, $3::bigint, decode($4::text, 'base64'), $5::boolean, $6::uuid)`

	onceEndSQL = `select queen.kv_once_end_v1($1::text, $2::text, $3::bigint, decode($4::text, 'base64'), $5::boolean, $6::uuid)`
)

// onceCall is one call of Once: its arguments, as they are sent, and its options.
type onceCall struct {
	ns    Namespace
	key   string
	ttlMs int64
	opts  OnceOptions
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
	if opts != nil {
		c.opts = *opts
	}
	return c, nil
}

// onceMarker is what kv_once_begin_v1 answers. A result that is stored is never nil, though it may be empty.
type onceMarker struct {
	state   string
	token   int64
	result  []byte
	isError bool
}

func (c *onceCall) begin(ctx context.Context, tx Tx) (onceMarker, error) {
	var m onceMarker
	var token *int64
	var result *string
	var isError *bool
	err := tx.QueryRow(ctx, onceBeginSQL,
		c.ns.name, c.key, c.ttlMs, base64OrNull(c.opts.Fingerprint), !c.opts.Busy, c.ns.tenantText()).
		Scan(&m.state, &token, &result, &isError)
	if err != nil {
		return m, err
	}
	if token != nil {
		m.token = *token
	}
	m.isError = isError != nil && *isError
	if result != nil {
		// PostgreSQL breaks base64 into lines, which Go's decoder skips.
		if m.result, err = base64.StdEncoding.DecodeString(*result); err != nil {
			return m, fmt.Errorf("kvpg: reading the answer of kv_once_begin_v1: %w", err)
		}
	}
	return m, nil
}

// onceOutcome is what end stores: a result, or an error that StoreError took.
type onceOutcome struct {
	bytes   []byte
	failure error // nil for a result
}

// run holds the promise that a transaction in which fn or the storing of its outcome failed is never committed. The deferred
// call recovers nothing: a panic, or runtime.Goexit, goes on with its own stack.
func (c *onceCall) run(ctx context.Context, tx Tx, token int64, fn func(context.Context) ([]byte, error),
) (OnceResult, *OnceStoredError, error) {
	finished := false
	defer func() {
		if !finished {
			c.abort(ctx, tx)
		}
	}()
	outcome, err := c.play(ctx, tx, token, fn)
	if err != nil {
		return OnceResult{}, nil, err
	}
	if err := c.end(ctx, tx, token, outcome); err != nil {
		return OnceResult{}, nil, besides(outcome.failure, mapError(err))
	}
	finished = true
	if outcome.failure != nil {
		return OnceResult{}, &OnceStoredError{Stored: outcome.bytes, err: outcome.failure}, nil
	}
	return OnceResult{Result: outcome.bytes}, nil, nil
}

func (c *onceCall) end(ctx context.Context, tx Tx, token int64, o onceOutcome) error {
	stored := any(nil) // "done" alone
	if o.failure != nil || !c.opts.DiscardResult {
		stored = base64.StdEncoding.EncodeToString(o.bytes)
	}
	var version int64
	return tx.QueryRow(ctx, onceEndSQL, c.ns.name, c.key, token, stored, o.failure != nil, c.ns.tenantText()).Scan(&version)
}

// abort makes tx uncommittable: no marker has token 0, so kv_once_end_v1 raises kv_once_lost. An error that did not come from
// the server has not aborted anything (the connection may be busy with rows that fn left open); then only a rollback is left.
func (c *onceCall) abort(ctx context.Context, tx Tx) {
	ctx, cancel := unended(ctx)
	defer cancel()
	if err := c.end(ctx, tx, 0, onceOutcome{}); !isRaised(err) {
		rollBack(ctx, tx) // the caller gets the error of fn, and every use of tx fails
	}
}

// isRaised: the server answered with an error, which has aborted the transaction.
func isRaised(err error) bool {
	var raised interface{ SQLState() string }
	return errors.As(err, &raised)
}

func base64OrNull(b []byte) any {
	if b == nil {
		return nil
	}
	return base64.StdEncoding.EncodeToString(b)
}
