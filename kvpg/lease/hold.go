// Package lease holds a lease of kvpg while a function runs: it renews the lease in time, and cancels the function's context when the
// lease is lost.
//
//	err := lease.Hold(ctx, pool, leases, "nightly-report", 30*time.Second, func(ctx context.Context, l kvpg.Lease) error {
//		return report(ctx, pool, l) // its transactions call l.Guard
//	}, nil)
//	var held *lease.HeldError
//	if errors.As(err, &held) { ... somebody else is at it }
//
// # What is promised
//
// A context that is cancelled is a message, not a fence: between the loss of the lease and the moment in which the function
// takes notice, another holder may be at work. An effect in the database is protected by [kvpg.Lease.Guard] in its own transaction; an
// effect elsewhere can't be, and must bear being done twice.
//
// # Clocks
//
// The lease ends by the database's clock, which this machine's may differ from. So nothing here compares the two: Hold takes this
// machine's monotonic time from before it sends a request, and counts ttl from there. The database counts from a later moment,
// so that Hold gives the lease up before the database does, unless the two clocks run at rates that differ by more than the time
// the request took. (The monotonic clock of most systems stands still while the machine sleeps. After a sleep Hold may take a lease
// for held that is over; Guard does not.)
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// Options are the options of [Hold].
type Options struct {
	// Owner is a name for people who look who has it. Empty by default.
	Owner string
}

// HeldError says that somebody else has the lease. The function has not run.
type HeldError struct {
	Owner string // the name that the holder gave

	// ExpiresAt is when the lease ends if the holder doesn't renew it, by the database's clock. It is zero for a key that was put
	// there for ever, which is no lease and has to be deleted.
	ExpiresAt time.Time
}

// Error names the owner, in at most 100 characters: a key that holds no lease gives its whole value for one.
func (e *HeldError) Error() string {
	owner := e.Owner
	if runes := []rune(owner); len(runes) > 100 {
		owner = string(runes[:100]) + "..."
	}
	if e.ExpiresAt.IsZero() {
		return fmt.Sprintf("kvpg/lease: held by %q for ever", owner)
	}
	return fmt.Sprintf("kvpg/lease: held by %q until %s", owner, e.ExpiresAt.Format(time.RFC3339Nano))
}

// releaseTimeout bounds the release, which must be tried although the caller's context may have ended.
const releaseTimeout = 5 * time.Second

// Hold acquires the lease of key, runs fn while it renews the lease at about a third of ttl, and releases it when fn returns. When
// somebody else has the lease, Hold returns a [*HeldError] at once; to wait, call it again later.
//
// fn's context is cancelled when ctx is (the lease is still renewed while fn winds up), and when the lease is lost: it was found to be over
// or another's, or no renewal succeeded before it ran out. context.Cause then gives an error that is [kvpg.ErrLeaseLost] and tells the last failure. Hold waits
// for fn to return in every case, and nothing that it started outlives it.
//
// Hold returns fn's error. When the lease was lost, also if that shows only at the release, the result is kvpg.ErrLeaseLost as well, even
// if fn returned nil. A release that fails is no error: what fn did is done, and the lease runs out by itself. When fn panics, the
// lease is released and the panic goes on. When the answer to the acquire is lost, that is the error, fn does not run, and the lease
// may stay taken, by nobody, until ttl has passed.
//
// db must be good for use from several goroutines, as a *pgxpool.Pool is and kvpg.FromSQL of a *sql.DB: it renews while fn works. A
// transaction, in which the lease would be nobody's until it commits, is refused ([kvpg.ErrBadRequest]). The pool needs a connection
// to spare beside those that fn holds: in a pool of one, or one that others have emptied, the renewals wait for fn, and fn's context is cancelled when ttl has passed.
// A transaction of fn's that has called Guard makes renewals wait, so let it be shorter than two thirds of ttl.
func Hold(ctx context.Context, db kvpg.DB, ns kvpg.Namespace, key string, ttl time.Duration,
	fn func(ctx context.Context, l kvpg.Lease) error, opts *Options,
) error {
	if _, open := db.(kvpg.Tx); open || db == nil {
		const problem = "Hold was given a transaction, or nothing: give it a pool"
		return &kvpg.Error{Code: kvpg.ErrBadRequest, SQLState: "22023", Problem: problem, Index: -1}
	}
	if opts == nil {
		opts = &Options{}
	}
	sent := time.Now()
	l, ok, err := kvpg.AcquireLease(ctx, db, ns, key, ttl, &kvpg.LeaseOptions{Owner: opts.Owner})
	if err != nil {
		return err
	}
	if !ok {
		return &HeldError{Owner: l.Owner, ExpiresAt: l.ExpiresAt}
	}
	h := &holder{db: db, lease: l, ttl: ttl, until: sent.Add(ttl)}
	return h.run(ctx, fn)
}

// run keeps the order: fn has returned, then the renewals have, then the release is sent.
func (h *holder) run(ctx context.Context, fn func(ctx context.Context, l kvpg.Lease) error) (err error) {
	fnCtx, lose := context.WithCancelCause(ctx)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx)) // while fn winds up after ctx ended, too
	done := make(chan struct{})
	go func() {
		defer close(done)
		if lost := h.renew(renewing, lose); lost != nil {
			h.lost = lost
			lose(lost)
		}
	}()
	defer func() { // also when fn panics
		stop()
		<-done
		lose(nil)
		if h.lost == nil {
			h.release(ctx)
		}
		if h.lost != nil && !errors.Is(err, h.lost) {
			err = errors.Join(err, h.lost)
		}
	}()
	return fn(fnCtx, h.lease)
}

// release tries once. That the lease was over already is a loss that no renewal has seen.
func (h *holder) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if held, err := h.lease.Release(ctx, h.db); err == nil && !held {
		h.lost = lostBecause(errOver)
	}
}
