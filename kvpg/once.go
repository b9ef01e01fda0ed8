package kvpg

import (
	"context"
	"fmt"
	"time"
)

// OnceOptions are the options of [Once] and [OnceTx]. The zero value waits for duplicates, stores results and no errors.
type OnceOptions struct {
	// Fingerprint tells one request from another that reuses its key: a hash of the request's body, or the body. Only its
	// SHA-256 is stored. nil is none, which differs from empty and from any other.
	Fingerprint []byte

	// Busy answers [ErrOnceBusy] at once where Once would wait for another transaction that has the key. Nothing is written, and the
	// transaction goes on. A finished key is replayed all the same.
	Busy bool

	// DiscardResult stores that the function was done, and not what it returned, which may then have any size. The first caller
	// gets the result; a replay gets none, and OnceResult.Discarded says so. It has no say over a result that is stored already.
	DiscardResult bool

	// StoreError makes failures outcomes: it is asked about an error of the function, and answers with the bytes to store for it
	// and true, or with false for an error that is to fail as without the option. nil stores none.
	//
	// The function then runs in a savepoint. Where its error is stored, what it did is undone, and Once returns an
	// [*OnceStoredError] that wraps the error: commit the transaction, and a later caller gets an *OnceStoredError with the same
	// bytes instead of a second run.
	//
	//	StoreError: func(err error) ([]byte, bool) {
	//		return []byte("card declined"), errors.Is(err, errDeclined)
	//	},
	//
	// What another try may heal is never stored, and StoreError not asked about it: SQLSTATE 40001, 40P01, 55P03 and 57014,
	// class 53 (no room: too many connections, a full disk), an aborted transaction (25P02, whose cause nobody knows any more),
	// connections that are lost or can't be made (to whatever server), [ErrOnceBusy], [ErrLeaseLost] and [ErrCommitUnknown] of calls
	// in the function, and a context that has ended. They are recognised with errors.As, so wrap them with %w. A panic is never stored either.
	//
	// It costs two round trips (savepoint and release), and a third for an error.
	StoreError func(err error) (stored []byte, ok bool)
}

// OnceResult is what the function returned, now or the first time.
type OnceResult struct {
	Result    []byte
	Replayed  bool // the function did not run; Result is what it returned to the first caller, byte for byte
	Discarded bool // on a replay: no result was stored (OnceOptions.DiscardResult), and Result is nil
}

// Once runs fn at most once per key within the retention time, in the caller's transaction, and gives every later caller the
// result that fn returned:
//
//	r, err := kvpg.Once(ctx, tx, deliveries, id, 30*24*time.Hour, func(ctx context.Context) ([]byte, error) {
//		return book(ctx, tx, event)
//	}, nil)
//
// fn must do its work in tx. The marker, the effect and the result are committed together when the caller commits, or not
// at all: a rollback or a crash frees the key. A caller that meets the same key in another, unfinished transaction waits for
// it to end, and then replays the result or, when that one rolled back, runs fn itself. [OnceTx] is Once with the transaction
// around it.
//
// When fn fails, its error is returned as it is, and when it panics the panic goes on; in both cases the transaction can no
// longer be committed, not even by a caller who drops the error: pgx answers Commit with pgx.ErrTxCommitRollback, and
// what ran in a savepoint can't be released. (Once makes PostgreSQL raise an error for that, and only if the server can't be
// asked it rolls tx back.) So does a context that ends while Once waits. Roll back, as after any error. OnceOptions.StoreError is the
// exception.
//
// Refused, with nothing written and the transaction still usable: [ErrOnceBusy], [ErrOnceMismatch], [ErrOnceUnfinished],
// [ErrOnceReentry] and [ErrOnceForeign]; and an [*OnceStoredError] that replays. A result of more than 48,000 bytes fails
// ([ErrValueTooLarge]), and the effect with it, unless OnceOptions.DiscardResult is set.
//
// retention is rounded up to milliseconds, above zero and at most 100 years. It must outlive every retry; when it has passed,
// fn runs again. Above READ COMMITTED a caller that waited gets SQLSTATE 40001 ([IsRetryable]), and its next try replays.
// lock_timeout ends a wait with 55P03, which costs the transaction, as every error of PostgreSQL does; Busy is what harms nothing.
//
// A connection that is lost during COMMIT leaves it open whether the effect and the marker are there. The answer is always the
// same: run it again with the same key. Where they are, it replays; where they are not, fn runs.
//
// Until the transaction ends, each key that was run or waited for holds one entry in PostgreSQL's lock table. Don't mark
// thousands of keys in one transaction with it.
func Once(ctx context.Context, tx Tx, ns Namespace, key string, retention time.Duration,
	fn func(ctx context.Context) ([]byte, error), opts *OnceOptions,
) (OnceResult, error) {
	result, stored, err := once(ctx, tx, ns, key, retention, fn, opts)
	if stored != nil {
		return OnceResult{}, stored
	}
	return result, err
}

// once tells this call's stored error from one that fn got from a call of its own, and returned.
func once(ctx context.Context, tx Tx, ns Namespace, key string, retention time.Duration,
	fn func(ctx context.Context) ([]byte, error), opts *OnceOptions,
) (OnceResult, *OnceStoredError, error) {
	call, fault := newOnceCall(ns, key, retention, opts)
	if fault != nil {
		fault.Index = -1
		return OnceResult{}, nil, fault
	}
	if err := ctx.Err(); err != nil {
		return OnceResult{}, nil, err // nothing is sent
	}
	marker, err := call.begin(ctx, tx)
	if err != nil {
		if !isRaised(err) { // the marker may be there, which must not be committed alone
			call.abort(ctx, tx)
		}
		return OnceResult{}, nil, mapError(err)
	}
	switch {
	case marker.state == "run":
		return call.run(ctx, tx, marker.token, fn)
	case marker.state == "replay" && marker.isError:
		return OnceResult{}, &OnceStoredError{Stored: marker.result, Replayed: true}, nil
	case marker.state == "replay":
		return OnceResult{Result: marker.result, Replayed: true, Discarded: marker.result == nil}, nil, nil
	}
	return OnceResult{}, nil, onceRefusal(marker.state)
}

func onceRefusal(state string) error {
	e := &Error{Index: -1}
	switch state {
	case "busy":
		e.Code, e.Problem = ErrOnceBusy, "another transaction has the key and has not ended"
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
