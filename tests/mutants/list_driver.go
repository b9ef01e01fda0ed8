package main

// The driver.
var driver = []mutant{
	{
		name: "an unknown commit is retried", file: "kvpg/errors.go", quick: true,
		old: "if !errors.As(err, &pg) {\n\t\treturn false\n\t}", new: "if !errors.As(err, &pg) {\n\t\treturn err != nil\n\t}",
		why:    "what PostgreSQL did not answer may have been committed",
		killer: killer{"kvpg", "TestMapErrorLeavesOthersAlone"},
	},
	{
		name: "a lost connection is retried", file: "kvpg/errors.go",
		old: `return state == "40001" || state == "40P01"`, new: `return state == "40001" || state == "40P01" || strings.HasPrefix(state, "08")`,
		why:    "only 40001 and 40P01 are retryable: 08006 may come after the commit",
		killer: killer{"kvpg", "TestMapErrorOfPostgreSQLItself"},
	},
	{
		name: "a deadlock is not retried", file: "kvpg/errors.go",
		old: `return state == "40001" || state == "40P01"`, new: `return state == "40001"`,
		why:    "40P01 is retryable",
		killer: killer{"kvpg", "TestMapErrorOfPostgreSQLItself"},
	},
	{
		name: "the cause is dropped", file: "kvpg/errmap.go",
		old: `Index: -1, cause: err}`, new: `Index: -1}`,
		why:    "an Error unwraps to the driver's error",
		killer: killer{"kvpg", "TestMapErrorKeepsEveryCode"},
	},
	{
		name: "no detail of lib/pq", file: "kvpg/errmap.go",
		old: `fields.Get('M'), fields.Get('D')}`, new: `fields.Get('M'), ""}`,
		why:    "the op, the problem and the verdict of a lost precondition are told by every driver",
		killer: killer{"tests/handles", "TestHandles/sql.DB/pq/required"},
	},
	{
		name: "abort left out of Once", file: "kvpg/once_call.go",
		old: "if !finished {\n\t\t\tc.abort(ctx, tx)", new: "if !finished && ctx == nil {\n\t\t\tc.abort(ctx, tx)",
		why:    "a caller who drops the function's error and commits gets a rollback, not half an effect",
		killer: killer{"tests/kvpg", "TestOnceFailureCannotBeCommitted"},
	},
	{
		name: "abort with a context that has ended", file: "kvpg/once_call.go",
		old: `context.WithTimeout(context.WithoutCancel(ctx), endTimeout)`, new: `context.WithTimeout(ctx, endTimeout)`,
		why:    "the transaction is made uncommittable although the caller's context has ended",
		killer: killer{"kvpg", "TestOnceFailureAbortsTheTransaction"},
	},
	{
		name: "no rollback where the server can't be asked", file: "kvpg/once_call.go",
		old: `_ = tx.Rollback(ctx) // the caller`, new: `_ = tx // the caller`,
		why:    "an abort that did not come from the server has not aborted anything",
		killer: killer{"tests/kvpg", "TestOnceFailureWithOpenRows"},
	},
	{
		name: "a stored error replays as a result", file: "kvpg/once.go",
		old: `case marker.state == "replay" && marker.isError:`, new: `case false:`,
		why:    "a stored error is no result",
		killer: killer{"kvpg", "TestOnceReplay"},
	},
	{
		name: "versions as floats", file: "kvpg/read.go",
		old: "select value::text, version,\n", new: "select value::text, version::float8::bigint,\n",
		why:    "versions are exact, above 2^53 too",
		killer: killer{"tests/handles", "TestHandles/.*/.*/versions"},
	},
	{
		name: "counters as floats", file: "kvpg/entry.go",
		old:    "if n, err := strconv.ParseInt(text, 10, 64); err == nil {\n\t\treturn n, nil",
		new:    "if n, err := strconv.ParseFloat(text, 64); err == nil {\n\t\treturn int64(n), nil",
		why:    "numbers never go through float64",
		killer: killer{"kvpg", "TestInt64Of"},
	},
	{
		name: "bytes for jsonb", file: "kvpg/apply.go",
		old: `, text, ops[0].ns.tenantText()).Scan(&answer)`, new: `, []byte(text), ops[0].ns.tenantText()).Scan(&answer)`,
		why:    "a []byte becomes bytea in two of pgx's modes",
		killer: killer{"tests/handles", "TestHandles/.*/.*/put_get_delete"},
	},
	{
		name: "U+0000 in a value", file: "kvpg/jsonfault.go",
		old: `case unit == 0:`, new: `case unit == -2:`,
		why:    "what jsonb can't hold is refused before anything is sent: the transaction stays usable",
		killer: killer{"kvpg", "TestEncodeValueRefuses"},
	},
	{
		name: "U+0000 in a key", file: "kvpg/check.go",
		old: `if strings.IndexByte(s, 0) >= 0 {`, new: `if strings.IndexByte(s, 0) > len(s) {`,
		why:    "a key that text can't hold is refused before anything is sent",
		killer: killer{"kvpg", "TestRefusedBeforeSending"},
	},
	{
		name: "a lone surrogate", file: "kvpg/jsonfault.go",
		old: `case unit >= 0xDC00 && unit <= 0xDFFF:`, new: `case unit > 0xDC00 && unit <= 0xDFFF:`,
		why:    "a lone surrogate is refused before anything is sent",
		killer: killer{"kvpg", "TestEncodeValueRefuses"},
	},
	{
		name: "a TTL rounded down", file: "kvpg/expiry.go",
		old: `int64((d + time.Millisecond - 1) / time.Millisecond)`, new: `int64(d / time.Millisecond)`,
		why:    "a key must not die before its time",
		killer: killer{"kvpg", "TestExpiryMilliseconds"},
	},
	{
		name: "the zero Expiry is for ever", file: "kvpg/expiry.go",
		old: "\texpiryUnset expiryKind = iota\n\texpiryTTL\n\texpiryForever\n", new: "\texpiryForever expiryKind = iota\n\texpiryTTL\n\texpiryUnset\n",
		why:    "Expiry has no valid zero value",
		killer: killer{"kvpg", "TestRefusedBeforeSending"},
	},
	{
		name: "JSON null is not there", file: "kvpg/read.go",
		old: `return row.entry(), true, nil`, new: `return row.entry(), value != "null", nil`,
		why:    "JSON null is a value",
		killer: killer{"tests/handles", "TestHandles/.*/.*/json_null"},
	},
	{
		name: "a repeated key has one slot", file: "kvpg/read.go",
		old: "slots[i] = Lookup{Entry: entry, Found: ok}\n", new: "slots[i] = Lookup{Entry: entry, Found: ok}\n\t\tdelete(found, key)\n",
		why:    "GetMany gives a slot per input key",
		killer: killer{"tests/handles", "TestHandles/.*/.*/get_many"},
	},
	{
		name: "ops of two tenants in one call", file: "kvpg/apply.go",
		old: `op.ns.tenant != ops[0].ns.tenant {`, new: `op.ns.tenant != op.ns.tenant {`,
		why:    "Apply refuses ops of two tenants: the second's would be done to the first's rows",
		killer: killer{"kvpg", "TestApplyNamesTheFirstBadOp"},
	},
	{
		name: "Expect of the zero Version is no precondition", file: "kvpg/version.go",
		old: `return Expect{set: true, v: v} }`, new: `return Expect{set: !v.IsZero(), v: v} }`,
		why:    "the zero Version expects absence",
		killer: killer{"kvpg", "TestExpectVersionZeroIsAbsent"},
	},
}
