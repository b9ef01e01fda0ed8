package kvpg

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// commit gives nil, an error that says that nothing was committed, or ErrCommitUnknown.
func commit(ctx context.Context, tx Tx) error {
	late, cancel := outlive(ctx, endTimeout)
	defer cancel()
	err := tx.Commit(late)
	switch {
	case err == nil:
		return nil
	case notCommitted(err):
		return mapError(err)
	}
	cause := err
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		cause = fmt.Errorf("%w: %w", ended, err)
	}
	problem := "COMMIT was sent, and its outcome did not come back: "
	if errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, sql.ErrTxDone) {
		problem = "the transaction was ended by something other than RunTx: "
	}
	e := &Error{Code: ErrCommitUnknown, Problem: problem + cause.Error(), Index: -1, cause: cause}
	if pg, ok := serverErrorOf(err); ok {
		e.SQLState, e.Detail = pg.state, pg.detail
	}
	return e
}

// notCommitted: an answer of COMMIT after which the transaction is rolled back for certain, or which says that COMMIT was never
// sent. Everything else may have come after the commit: a connection that broke, a context that ended on the way, a server
// that was told to shut down once the transaction was on disk.
func notCommitted(err error) bool {
	if errors.Is(err, pgx.ErrTxCommitRollback) || pgconn.SafeToRetry(err) || isFailedTransaction(err) {
		return true
	}
	var sent interface {
		error
		SQLState() string
	}
	if !errors.As(err, &sent) || len(sent.SQLState()) != 5 || mayFollowCommit(sent.SQLState()) {
		return false
	}
	switch severity := severityOf(sent); {
	case severity != "":
		return severity == "ERROR" // and not FATAL or PANIC, nor a word of another language
	default:
		// Resources, files and internal errors can be a PANIC in the middle of COMMIT.
		class := sent.SQLState()[:2]
		return class != "53" && class != "58" && class != "XX"
	}
}

// severityOf reads what pgx and lib/pq have a field and a method for; of other drivers it knows nothing.
func severityOf(sent error) string {
	var pg *pgconn.PgError
	if errors.As(sent, &pg) {
		return cmp.Or(pg.SeverityUnlocalized, pg.Severity) // a pooler may leave the first out
	}
	if fields, ok := sent.(interface{ Get(field byte) string }); ok {
		return fields.Get('S')
	}
	return ""
}

// mayFollowCommit: the session ended, or the server says itself that it doesn't know.
func mayFollowCommit(state string) bool {
	return isConnectionState(state) || state == "40003"
}

// isFailedTransaction: lib/pq refuses to commit a transaction that an error has aborted, rolls it back, and has no code for that.
func isFailedTransaction(err error) bool {
	return strings.Contains(err.Error(), "ould not complete operation in a failed transaction")
}

// outlive gives a context that ends a while after ctx does.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		patience := time.NewTimer(by)
		defer patience.Stop()
		select {
		case <-patience.C:
			cancel()
		case <-late.Done():
		}
	})
	return late, func() {
		stop()
		cancel()
	}
}
