// Package kvpg is the Go driver of queen.kv, a key-value store that is a table in your own PostgreSQL. What it writes commits
// together with what you write: a marker, a counter or a cursor and the effect it stands for are one transaction, or nothing.
//
//	var (
//		deliveries = kvpg.NewNamespace("deliveries")
//		counters   = kvpg.NewNamespace("counters")
//	)
//
//	r, err := kvpg.OnceTx(ctx, pool, deliveries, event.ID, 30*24*time.Hour, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
//		if _, err := tx.Exec(ctx, `insert into ledger ...`); err != nil {
//			return nil, err
//		}
//		n, err := kvpg.Incr(ctx, tx, counters, event.Customer, 1, kvpg.Forever(), nil)
//		return n.Value, err
//	}, nil)
//
// # Handles
//
// Every operation is a function that takes the caller's handle and runs one statement on it: pgx.Tx, *pgx.Conn or
// *pgxpool.Pool, or what [FromSQL] and [FromSQLTx] make of database/sql's. There is no client to make, nothing to close, no
// goroutine, no retry and no log. An operation never commits: [RunTx], and [OnceTx] around [Once], are what begins a transaction,
// tries it again where PostgreSQL asks for that, and commits it. It works in all of pgx's execution modes, and so behind PgBouncer
// (with a mode that suits it) as well.
//
// The schema must be installed; [CheckSchema] at start-up says so, and every operation answers [ErrSchema] where it isn't.
//
// # Keys and values
//
// A key lives in a [Namespace] of a tenant; [Namespace.For] binds one to a tenant. Keys are 1 to 2,048 bytes of UTF-8
// without NUL, and are ordered by their bytes. Values are JSON, up to 65,536 bytes of it, and JSON null is a value like any other:
// that a key is absent is told by ok, Found or a zero [Version]. Numbers are kept exactly.
//
// Every write says how long the key lives: [TTL] or [Forever]. An expired key is not there, for reads, preconditions
// and writes alike, whether or not its row has been swept.
//
// # Verdicts and errors
//
// That a precondition is lost is an outcome, not a failure: [Verdict] has Applied, the Reason, and what is there instead, and the
// transaction goes on. With Required it is a *[PreconditionError] and the transaction is lost. Everything else is a failure:
//
//	errors.Is(err, kvpg.ErrBadKey)    one kind of failure, by its code
//	errors.As(err, &kvErr)            *Error: code, SQLSTATE, detail, the op's index
//	kvpg.IsRetryable(err)             run the whole transaction again
//
// What the driver can see to be wrong it refuses before anything is sent, so that the transaction stays usable. An error that
// came from PostgreSQL has aborted it, as always.
//
// One failure says neither yes nor no: a connection that is lost while COMMIT is on its way. [RunTx] calls it
// [ErrCommitUnknown], and the answer is to run it again under [Once], with the same key.
//
// # Several keys, one call
//
// Two transactions that write the same two keys one after the other, in different orders, can deadlock. [Apply] writes all keys
// of one call in one order, so that such calls can't. Between two calls, and between a call and the caller's own statements,
// nobody orders the locks: be ready to retry the transaction.
//
// # Patterns
//
// What most programs want is a function of its own, with its rules in SQL: [Once] runs an effect once a key and replays its
// result, [Limit] counts hits in fixed windows, [AcquireLease] makes a process the only one for a time (package kvpg/lease
// holds one while a function runs), and [Dedupe] says which keys of a list are new.
//
// # No cached read
//
// There is none, and none is planned. A cache in the process answers with what was true some time ago, and everything here decides by
// what is true now: an expired key is gone at its instant, a marker is seen when it commits and not before, a lease that somebody took
// is not held. PostgreSQL does not tell a process that a key has changed, and a row read in a transaction may not be
// shown outside of it. A [Get] is one round trip and one index probe; who can live with an older answer knows best how old it may
// be, and can keep the [Entry] that long in a map of their own, with its Version to write back against ([ExpectVersion]).
//
// # Isolation
//
// In READ COMMITTED, PostgreSQL's default, a verdict tells a state that was really committed. Above it an operation that meets
// a row its snapshot can't see gets SQLSTATE 40001; run the whole transaction again, as [RunTx] does.
package kvpg
