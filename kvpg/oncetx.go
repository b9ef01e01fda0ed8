package kvpg

import (
	"context"
	"time"
)

// OnceTx is [Once] in a transaction of its own, which [RunTx] begins, commits and, on SQLSTATE 40001 and 40P01, tries again:
//
//	r, err := kvpg.OnceTx(ctx, pool, deliveries, id, 30*24*time.Hour, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
//		return book(ctx, tx, event)
//	}, nil)
//
// A nil error means that the effect and its result are committed, by this call or, when r.Replayed, by an earlier one. An
// [*OnceStoredError] is committed too when it is returned. Every other error but [ErrCommitUnknown] means that nothing was committed
// by this call. After ErrCommitUnknown call again with the same key: what was committed is replayed, what was not is run.
//
// fn must do its work in tx, and neither commit nor roll back; it may run several times, of which one is committed. A try that
// finds the key finished meanwhile replays.
//
// fn must not call OnceTx with its own key: that is another transaction, which would wait for this one for ever, and no deadlock
// that PostgreSQL can see. (With OnceOptions.Busy it is told [ErrOnceBusy], and [Once] in tx is told [ErrOnceReentry].)
func OnceTx[T Tx](ctx context.Context, db Beginner[T], ns Namespace, key string, retention time.Duration,
	fn func(ctx context.Context, tx T) ([]byte, error), opts *OnceOptions,
) (OnceResult, error) {
	var result OnceResult
	var stored *OnceStoredError
	err := RunTx(ctx, db, func(ctx context.Context, tx T) (err error) {
		result, stored, err = once(ctx, tx, ns, key, retention, func(ctx context.Context) ([]byte, error) {
			return fn(ctx, tx)
		}, opts)
		return err
	}, nil)
	if err != nil {
		return OnceResult{}, err
	}
	if stored != nil {
		return OnceResult{}, stored
	}
	return result, nil
}
