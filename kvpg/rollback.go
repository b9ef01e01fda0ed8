package kvpg

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// endTimeout bounds what must be sent although the caller's context may have ended: what ends a transaction.
const endTimeout = 5 * time.Second

func unended(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
}

// rollBack rolls tx back for certain: when the server can't be asked (rows that were left open keep the connection busy), the
// connection is closed, and the server rolls back. pgx does that itself for a transaction, but not for a savepoint, whose work
// the transaction around it could still commit.
func rollBack(ctx context.Context, tx Tx) {
	err := tx.Rollback(ctx)
	if err == nil || isRaised(err) || errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, sql.ErrTxDone) {
		return // a transaction that is over may have given its connection to somebody else
	}
	if of, ok := tx.(interface{ Conn() *pgx.Conn }); ok {
		if conn := of.Conn(); conn != nil {
			_ = conn.Close(ctx)
		}
	}
}
