package main

// Transactions: RunTx, OnceTx and the options of Once.
var transactions = []mutant{
	{
		name: "an unknown COMMIT runs again", file: "kvpg/runtx.go",
		old: `if !IsRetryable(err) || errors.Is(err, ErrCommitUnknown) {`, new: `if !IsRetryable(err) && !errors.Is(err, ErrCommitUnknown) {`,
		why:    "RunTx never retries an unknown commit by itself",
		killer: killer{"tests/crash", "TestUnknownCommit"},
	},
	{
		name: "a shutdown at COMMIT means rolled back", file: "kvpg/commit.go",
		old: `return severity == "ERROR" // and`, new: `return true // and`,
		why:    "a FATAL answer may have come after the commit",
		killer: killer{"kvpg", "TestRunTxCommitErrors"},
	},
	{
		name: "a lost session at COMMIT means rolled back", file: "kvpg/commit.go",
		old: `return isConnectionState(state) || state == "40003"`, new: `return state == "40003"`,
		why:    "08 and 57P0x say nothing about the commit, from whatever driver or pooler",
		killer: killer{"kvpg", "TestRunTxCommitErrors"},
	},
	{
		name: "a refused COMMIT is unknown", file: "kvpg/commit.go",
		old: `case notCommitted(err):`, new: `case IsRetryable(err):`,
		why:    "an ERROR in answer to COMMIT, as of a deferred constraint, means rolled back for certain",
		killer: killer{"tests/once", "TestRunTxDeferredConstraint"},
	},
	{
		name: "lib/pq's refusal is unknown", file: "kvpg/commit.go",
		old: `pgconn.SafeToRetry(err) || isFailedTransaction(err) {`, new: `pgconn.SafeToRetry(err) {`,
		why:    "that an aborted transaction is not committed is certain over lib/pq too",
		killer: killer{"tests/once", "TestSwallowedError"},
	},
	{
		name: "COMMIT ends with the context", file: "kvpg/commit.go",
		old: `outlive(ctx, endTimeout)`, new: `outlive(ctx, 0)`,
		why:    "a context that ends while COMMIT is on its way leaves time for the answer",
		killer: killer{"kvpg", "TestRunTxContextEndsDuringCommit"},
	},
	{
		name: "a panic leaves the transaction open", file: "kvpg/runtx.go",
		old: `if !committed { // after`, new: `if p := recover(); p != nil {
			panic(p)
		} else if !committed { // after`,
		why:    "a panic rolls back and goes on",
		killer: killer{"kvpg", "TestRunTxRollsBackWithAContextThatLives"},
	},
	{
		name: "a rollback with an ended context", file: "kvpg/runtx.go",
		old: "ctx, cancel := unended(ctx)\n\t\t\tdefer cancel()\n\t\t\trollBack(ctx, tx)", new: "rollBack(ctx, tx)",
		why:    "the transaction is rolled back although the caller's context has ended",
		killer: killer{"kvpg", "TestRunTxRollsBackWithAContextThatLives"},
	},
	{
		name: "RunTx in a transaction", file: "kvpg/runtx.go",
		old: `_, open := db.(Tx); open {`, new: `_, open := db.(Tx); open && most < 0 {`,
		why:    "in a transaction nil would not mean committed",
		killer: killer{"kvpg", "TestRunTxRefusesATransaction"},
	},
	{
		name: "COMMIT after the context's end", file: "kvpg/runtx.go",
		old: "if err := ctx.Err(); err != nil {\n\t\treturn err\n\t}\n\terr = commit", new: "err = commit",
		why:    "nothing is committed for a caller who has gone before COMMIT",
		killer: killer{"tests/once", "TestRunTxRollsBack"},
	},
	{
		name: "one attempt more", file: "kvpg/runtx.go",
		old: `if attempt == most {`, new: `if attempt-1 == most {`,
		why:    "MaxAttempts is how often the function may run",
		killer: killer{"tests/once", "TestRunTxGivesUp"},
	},
	{
		name: "a stored error is rolled back", file: "kvpg/oncetx.go",
		old: "\t\t}, opts)\n\t\treturn err\n", new: "\t\t}, opts)\n\t\tif stored != nil {\n\t\t\treturn stored\n\t\t}\n\t\treturn err\n",
		why:    "OnceTx commits a stored error",
		killer: killer{"tests/once", "TestOnceTxCommits"},
	},
	{
		name: "another one's stored error is committed", file: "kvpg/oncetx.go",
		old: "\t\t}, opts)\n\t\treturn err\n", new: "\t\t}, opts)\n\t\tif s, ok := err.(*OnceStoredError); ok {\n\t\t\tstored = s\n\t\t\treturn nil\n\t\t}\n\t\treturn err\n",
		why:    "a stored error that the function passes on is a failure of its own",
		killer: killer{"tests/once", "TestOnceTxReturnsAnotherOnesStoredError"},
	},
	{
		name: "a stored serialization failure", file: "kvpg/once_stored.go",
		old: `case "40001", "40P01", "55P03", "57014", "25P02":`, new: `case "40P01", "55P03", "57014", "25P02":`,
		why:    "40001 is never stored: the next try may succeed",
		killer: killer{"tests/once", "TestNeverStored"},
	},
	{
		name: "a stored lost connection", file: "kvpg/once_stored.go",
		old: "default:\n\t\treturn isConnectionState(state)", new: "default:\n\t\treturn false",
		why:    "connection errors are never stored",
		killer: killer{"kvpg", "TestOnceNeverStored"},
	},
	{
		name: "the effect of a stored error stays", file: "kvpg/once_stored.go",
		old: `tx.Exec(ctx, "rollback to "+savepoint)`, new: `tx.Exec(ctx, "release "+savepoint+"; "+savepoint)`,
		why:    "what the function did before its stored error is undone",
		killer: killer{"tests/once", "TestOnceTxCommits"},
	},
	{
		name: "one name for all savepoints", file: "kvpg/once_stored.go",
		old: `"savepoint kvpg_once_" + strconv.FormatInt(token, 10)`, new: `"savepoint kvpg_once_" + strconv.FormatInt(token*0, 10)`,
		why:    "a savepoint that an inner Once left behind does not stand for the outer one's",
		killer: killer{"tests/once", "TestStoredErrorUndoesNestedOnce"},
	},
	{
		name: "Busy waits", file: "kvpg/once_call.go",
		old: `!c.opts.Busy, c.ns`, new: `!c.opts.Busy || true, c.ns`,
		why:    "a Busy caller never waits",
		killer: killer{"kvpg", "TestOnceOptionsAreSent"},
	},
	{
		name: "DiscardResult stores the result", file: "kvpg/once_call.go",
		old: `if o.failure != nil || !c.opts.DiscardResult {`, new: `if o.failure != nil || !c.opts.DiscardResult || len(o.bytes) > 0 {`,
		why:    "with DiscardResult a result of any size is accepted, and not stored",
		killer: killer{"tests/once", "TestCeiling"},
	},
	{
		name: "a discarded result is not told", file: "kvpg/once.go",
		old: `Discarded: marker.result == nil}`, new: `Discarded: false}`,
		why:    "a replay says that no result was stored",
		killer: killer{"tests/once", "TestCeiling"},
	},
}
