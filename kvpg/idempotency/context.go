package idempotency

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/queenkv/queenkv/kvpg"
)

// A call is one run of the handler, in its transaction. It travels in the context of the request.
type call struct {
	tx     any
	failed error // what the handler gave to Fail
}

// handlerFailure marks what the handler gave to Fail. It says nothing about the key of the request, whatever it is.
type handlerFailure struct{ error }

func (e handlerFailure) Unwrap() error { return e.error }

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Tx gives the transaction of the request, for the handler and all that it calls:
//
//	tx := idempotency.Tx[pgx.Tx](r.Context())         // New was given a *pgxpool.Pool
//	tx := idempotency.Tx[kvpg.SQLTx](r.Context()).Tx  // New was given kvpg.FromSQL(db): a *sql.Tx
//
// What is done in it is committed together with the answer, or not at all. Neither commit nor roll it back: the middleware does.
// It is good until the handler returns.
//
// Tx panics where there is none (the middleware is not around this handler, or the method is not one of its methods) and where
// it is of another type. [TxOK] tells instead.
func Tx[T kvpg.Tx](ctx context.Context) T {
	tx, ok := TxOK[T](ctx)
	if !ok {
		panic(fmt.Sprintf("idempotency: the context holds no transaction of type %s: is the middleware around this handler, "+
			"for this method, and over such a database?", strings.TrimPrefix(fmt.Sprintf("%T", new(T)), "*")))
	}
	return tx
}

// TxOK is [Tx] for code that also runs outside the middleware: ok is false where there is no transaction of that type.
func TxOK[T kvpg.Tx](ctx context.Context) (tx T, ok bool) {
	if c := callOf(ctx); c != nil {
		tx, ok = c.tx.(T)
	}
	return tx, ok
}

// Fail says that the handler has failed with err, usually one that a statement gave. The handler must return then:
//
//	if _, err := tx.Exec(ctx, `insert into payment ...`); err != nil {
//		idempotency.Fail(ctx, err)
//		return
//	}
//
// Nothing is committed, whatever status the handler has written. For a serialization failure or a deadlock
// ([kvpg.IsRetryable]) the handler runs again from its start, in a new transaction, with the whole body, after a short wait, and
// so on until it succeeds or the request's context ends. Any other error goes to OnError, and the client gets the response
// that the handler wrote, when that is a 5xx, or else a plain 500, which does not show err.
//
// A handler that answers 500 without Fail rolls back as well; the client then has to send its request again where Fail would have
// run it again. Fail panics outside the middleware.
func Fail(ctx context.Context, err error) {
	c := callOf(ctx)
	if c == nil {
		panic("idempotency: Fail was called outside the middleware")
	}
	if err == nil {
		err = errors.New("Fail was called without an error")
	}
	if c.failed == nil { // what comes after the first is often its consequence
		c.failed = err
	}
}
