// Package quota keeps tenants of queen.kv within what an operator allows them, in the application, without a statement more on the
// path of a write.
//
//	q, err := quota.New(ctx, pool, nil)
//	...
//	go q.Run(ctx)
//	...
//	v, err := q.Put(ctx, tx, sessions.For(tenant), id, session, kvpg.TTL(time.Hour), nil)
//	if errors.Is(err, quota.ErrQuota) { ... } // nothing was sent; the transaction goes on
//
// An operator sets a quota with queen.kv_quota_set_v1, or "kv-sweeper quota set"; a sweeper measures what tenants store
// (kv_usage_step_v1); an [Enforcer] in each process reads both every ten seconds, and adds what this process has written since.
// The rules are in this package alone: who writes with package kvpg, or in SQL, is not refused, and is seen by the next measurement.
//
// # What is refused
//
// A tenant at 100% of his rows or bytes is over his quota: [Enforcer.Put], [Enforcer.PutIfAbsent], [Enforcer.Incr] and calls of
// [Enforcer.Apply] with such ops give an *[Error], whether or not they would add a row. So does a call that would not fit, and that
// alone blocks nobody. Who was over his quota is refused until he is counted below 90% of it, which only a new measurement can
// bring, or a higher limit. Get, Delete and Touch are never refused: use kvpg's own.
//
// A tenant without a quota is not bounded, unless [Options.RequireGrant]. One who was never measured is taken to store nothing but
// what this process wrote. Where readings fail, what is known stays in force, and the own writes go on counting; see
// [Options.MaxStale].
//
// # What counts
//
// Rows, and bytes of values, as kv_usage_step_v1 measures them: expired rows that were not swept yet count, keys and
// indexes don't. What this process wrote counts by its verdict: a write that lost counts nothing, a delete gives nothing back before
// the next measurement.
//
// A verdict doesn't say whether a Put replaced something. So each key that was written counts as a new row, once, and the
// largest of its values, before compression, until a measurement holds it. An Incr of an existing number other than 0 counts no row, and
// neither does a Put that expects a version. So a tenant who overwrites k different keys between two measurements needs room for k rows
// above what he stores; or let them be Puts with kvpg.ExpectVersion.
//
// A write is held by a measurement that was made [Options.CommitWithin] after its verdict, as its transaction may have been open until
// then. How long ago a measurement was made is read from the server's clock alone, and the write's time from this process's alone, so
// that the two need not agree; kv_usage_step_v1 must be called as kv_sweep_v1 calls it, in READ COMMITTED with p_now NULL. All doubt
// counts against the tenant: a write that was rolled back, or whose answer was lost, counts until then as well.
//
// Other helpers of kvpg are not judged by themselves; say [Enforcer.Allow] before those that store something new:
//
//	Once, OnceTx     Allow(ns, 1, n): one row, and a result of n bytes takes about 1.4 n + 200 bytes; GiveBack them for a replay
//	Dedupe           Allow(ns, len(keys), 32*len(keys)); GiveBack the same for each key that was seen
//	leases, Limit    nothing: a tenant over his quota must be able to renew, and must go on being limited. They are few rows,
//	                 and the next measurement has them
//
// # How far a quota can be passed
//
// One process alone doesn't pass a limit by what it writes through its Enforcer, where transactions commit within CommitWithin.
//
// Several processes don't know of each other's writes before a measurement. Each may fill the room that its measurement shows; so with
// N processes that write for one tenant, a tenant's rows (and likewise his bytes) stay at or below
//
//	limit + (N-1) * (limit - measured)
//
// where measured is the lowest measurement that any of them went by when it last wrote. Near the limit that is little: with ten processes,
// and 95% measured, 145% at most, and 200% with two that start from nothing. How long a measurement is old does not come into it. A
// process that was started again counts as one more, until a measurement has been made CommitWithin after the first one's last write,
// for what the first wrote is forgotten with it. Whoever writes past the Enforcer comes on top, and so does the error of an estimated
// measurement ([Usage.Sampled]) and a sweep that has not run: expired rows count.
//
// By time the same is bounded by what all processes write within measuring interval + [Options.Every] + CommitWithin.
package quota
