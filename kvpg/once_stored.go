package kvpg

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/kvpg/internal/network"
	"github.com/queenkv/queenkv/kvpg/internal/sqlstate"
)

// OnceStoredError says that the outcome of [Once] is a stored error (OnceOptions.StoreError, or p_is_error of a SQL caller):
// errors.Is(err, ErrOnceStoredError) holds. The transaction is usable. To keep the outcome of a first run, commit.
type OnceStoredError struct {
	// Stored is what StoreError gave, the same for the first caller and for every later one.
	Stored []byte

	// Replayed: the function did not run. Without it the error wraps the function's own, and what the function did is undone.
	Replayed bool

	err error
}

// Error names the code, and the function's error where it ran; it never shows what is stored.
func (e *OnceStoredError) Error() string {
	text := "kvpg: " + string(ErrOnceStoredError) + ": "
	if e.err != nil {
		return text + "the error is stored: " + e.err.Error()
	}
	return text + "the stored result is an error"
}

// Is makes errors.Is(err, ErrOnceStoredError) hold.
func (e *OnceStoredError) Is(target error) bool { return target == error(ErrOnceStoredError) }

// Unwrap gives the function's error, and nil on a replay.
func (e *OnceStoredError) Unwrap() error { return e.err }

// play runs fn, and gives what is to be stored. With StoreError fn runs in a savepoint, which is named by the token: one that
// an inner Once of a shared name left behind would be found in place of this one.
func (c *onceCall) play(ctx context.Context, tx Tx, token int64, fn func(context.Context) ([]byte, error)) (onceOutcome, error) {
	if c.opts.StoreError == nil {
		result, err := fn(ctx)
		return onceOutcome{bytes: result}, err
	}
	savepoint := "savepoint kvpg_once_" + strconv.FormatInt(token, 10)
	if _, err := tx.Exec(ctx, savepoint); err != nil {
		return onceOutcome{}, mapError(err)
	}
	o := onceOutcome{}
	o.bytes, o.failure = fn(ctx)
	if o.failure != nil {
		stored, ok := c.store(ctx, o.failure)
		if !ok {
			return onceOutcome{}, o.failure
		}
		if _, err := tx.Exec(ctx, "rollback to "+savepoint); err != nil {
			return onceOutcome{}, o.failure // as without the option; this is why it can't be stored
		}
		o.bytes = stored
	}
	if _, err := tx.Exec(ctx, "release "+savepoint); err != nil {
		return onceOutcome{}, besides(o.failure, mapError(err))
	}
	return o, nil
}

// besides gives err, together with the function's failure where there is one.
func besides(failure, err error) error {
	if failure == nil {
		return err
	}
	return errors.Join(failure, err)
}

// store asks StoreError, unless another try may heal the failure. An ended context may be the cause of any error.
func (c *onceCall) store(ctx context.Context, failure error) (stored []byte, ok bool) {
	if ctx.Err() != nil || isTransient(failure) {
		return nil, false
	}
	return c.opts.StoreError(failure)
}

// isTransient: the error tells of the moment, and not of what was asked.
func isTransient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err) {
		return true
	}
	for _, verdict := range []Code{ErrOnceBusy, ErrCommitUnknown, ErrLeaseLost} {
		if errors.Is(err, verdict) {
			return true
		}
	}
	var unmade *pgconn.ConnectError
	if network.Is(err) || errors.As(err, &unmade) {
		return true
	}
	return sqlstate.Any(err, isTransientState)
}

func isTransientState(state string) bool {
	switch state {
	case "40001", "40P01", "55P03", "57014", "25P02":
		return true
	default:
		return isConnectionState(state) || strings.HasPrefix(state, "53") // no room: connections, memory, disk
	}
}

// isConnectionState: the session ended, or a pooler says that it did. 25P03 and 25P04 are timeouts that end it.
func isConnectionState(state string) bool {
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || state == "25P03" || state == "25P04"
}
