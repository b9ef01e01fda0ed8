package kvpg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// TxOptions are the options of [RunTx]; the options of its transactions belong to the [Beginner].
type TxOptions struct {
	// MaxAttempts is how often fn may run; 0 means until the context ends. Below 0 is [ErrBadRequest], and nothing is begun.
	MaxAttempts int
}

// The wait before a retry is drawn from (0, d]; d doubles from the first to the last of these.
const (
	firstBackoff = 8 * time.Millisecond
	lastBackoff  = time.Second
)

// RunTx runs fn in a transaction and commits it. What PostgreSQL asks to be tried again ([IsRetryable]: SQLSTATE 40001 and
// 40P01, from fn or from COMMIT) it tries again, whole, in a new transaction, after a short random wait that doubles up to a
// second, until ctx ends or MaxAttempts is reached:
//
//	err := kvpg.RunTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
//		...
//	}, nil)
//
// db is a *pgxpool.Pool, a *pgx.Conn, [FromSQL] of a *sql.DB or *sql.Conn, or a [BeginFunc] where the transactions need options.
// A transaction, whose Begin makes a savepoint, is [ErrBadRequest]: nothing would be committed, and a retry would see the same snapshot.
// fn may run several times: it must keep its work in tx, and neither commit nor roll back. That it wraps errors with %w, and drops
// none of PostgreSQL's, is what lets RunTx see them.
//
// When fn fails or panics the transaction is rolled back, although ctx may have ended; the error is returned as it is, and a
// panic goes on. When the tries run out, the error wraps the last one; when ctx ends between two, it wraps both.
//
// Every error but one means that nothing was committed. The one is [ErrCommitUnknown]: COMMIT was sent, and what came back (a
// lost connection, a server that shuts down) doesn't tell whether it was done. RunTx never retries it, because it can't know
// whether fn may run twice. With [Once] in fn it may, so the caller runs the whole again with the same key.
//
// A ctx that ends while COMMIT is under way does not cut it off, which would leave just that open: RunTx waits for the answer
// for up to five seconds more, and returns nil when it is yes. (database/sql lets go of a transaction whose context has ended, so
// there it is unknown at once.)
func RunTx[T Tx](ctx context.Context, db Beginner[T], fn func(ctx context.Context, tx T) error, opts *TxOptions) error {
	most := 0
	if opts != nil {
		most = opts.MaxAttempts
	}
	if most < 0 {
		return ofNoOp(refuse(ErrBadRequest, fmt.Sprintf("TxOptions.MaxAttempts is %d: give the most runs, at least 1, or 0 for no bound", most)))
	}
	if _, open := db.(Tx); open {
		return ofNoOp(refuse(ErrBadRequest, "RunTx and OnceTx were given a transaction, in which they would commit nothing: give a pool or a connection"))
	}
	var last error // of the try before, which was retryable
	for attempt := 1; ; attempt++ {
		err := tryTx(ctx, db, fn)
		if err == nil {
			return nil
		}
		if !IsRetryable(err) || errors.Is(err, ErrCommitUnknown) {
			if last != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, ErrCommitUnknown) {
				return endedBetween(err, attempt-1, last)
			}
			return err
		}
		if attempt == most {
			return fmt.Errorf("kvpg: gave up after attempt %d: %w", attempt, err)
		}
		if ended := backOff(ctx, attempt); ended != nil {
			return endedBetween(ended, attempt, err)
		}
		last = err
	}
}

func endedBetween(ended error, attempt int, err error) error {
	return fmt.Errorf("kvpg: %w; attempt %d had failed: %w", ended, attempt, err)
}

// tryTx runs fn in one transaction.
func tryTx[T Tx](ctx context.Context, db Beginner[T], fn func(ctx context.Context, tx T) error) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return mapError(err)
	}
	committed := false
	defer func() {
		if !committed { // after a COMMIT of whatever end this says that the transaction is closed
			ctx, cancel := unended(ctx)
			defer cancel()
			rollBack(ctx, tx)
		}
	}()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err = commit(ctx, tx)
	committed = err == nil
	return err
}

// backOff waits before the try after attempt. It gives an error when ctx ends.
func backOff(ctx context.Context, attempt int) error {
	most := lastBackoff
	if doublings := attempt - 1; doublings < 7 {
		most = firstBackoff << doublings
	}
	wait := time.NewTimer(1 + rand.N(most))
	defer wait.Stop()
	select {
	case <-wait.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
