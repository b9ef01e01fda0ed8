package main

// Limiter, lease and dedupe, in SQL and in the driver.
var patterns = []mutant{
	{
		name: "no limit", file: "sql/patterns/limiter.sql",
		old: `'delta', p_cost, 'max', p_limit,`, new: `'delta', p_cost,`,
		why:    "a cost that doesn't fit is refused",
		killer: killer{"tests/sql", "TestLimiter$"},
	},
	{
		name: "one less remaining", file: "sql/patterns/limiter.sql",
		old: `floor(p_limit - p_used)`, new: `floor(p_limit - p_used - 1)`,
		why:    "remaining is what the window has left after the verdict",
		killer: killer{"tests/sql", "TestLimiter$"},
	},
	{
		name: "a question counts", file: "sql/patterns/limiter.sql",
		old: `if p_cost > 0 then`, new: `if p_cost >= 0 then`,
		why:    "a cost of 0 asks and never writes",
		killer: killer{"tests/sql", "TestPatternLosersLeaveNoTrace"},
	},
	{
		name: "a full window refuses a question", file: "sql/patterns/limiter.sql",
		old: `> p_limit then 'limit'`, new: `>= p_limit then 'limit'`,
		why:    "a cost of 0 fits where the counter is not above the limit",
		killer: killer{"tests/sql", "TestLimiter$"},
	},
	{
		name: "hits in input order", file: "sql/patterns/limiter.sql",
		old: `order by h.key collate "C", h.ordinality`, new: `order by h.ordinality`,
		why:    "a call locks its keys in ascending order, or two of them are in a deadlock",
		killer: killer{"tests/races", "TestPatternsTakeKeysInOrder"},
	},
	{
		name: "repeats judged backwards", file: "sql/patterns/limiter.sql",
		old: `order by h.key collate "C", h.ordinality`, new: `order by h.key collate "C", h.ordinality desc`,
		why:    "a key that is named twice is judged in input order",
		killer: killer{"tests/sql", "TestLimiter$"},
	},
	{
		name: "renewed by anybody", file: "sql/patterns/lease.sql",
		old: `'op', 'touch', 'ns', p_ns, 'key', p_key, 'expect', p_token,`, new: `'op', 'touch', 'ns', p_ns, 'key', p_key,`,
		why:    "the token renews, and nothing else does",
		killer: killer{"tests/sql", "TestLease$"},
	},
	{
		name: "released by anybody", file: "sql/patterns/lease.sql",
		old: `'op', 'delete', 'ns', p_ns, 'key', p_key, 'expect', p_token)`, new: `'op', 'delete', 'ns', p_ns, 'key', p_key)`,
		why:    "a late release must not free another's lease",
		killer: killer{"tests/sql", "TestLease$"},
	},
	{
		name: "an expired lease is guarded", file: "sql/patterns/lease.sql",
		old: `kv.version = p_token and queen.kv_live_v1(kv.expires_at, v_now)`, new: `kv.version = p_token`,
		why:    "a lease that is over is not held, though nobody took it",
		killer: killer{"tests/sql", "TestLease$"},
	},
	{
		name: "a guard without a lock", file: "sql/patterns/lease.sql",
		old: `
  for no key update;`, new: `;`,
		why:    "whoever would acquire the lease waits for the guarded transaction to end",
		killer: killer{"tests/races", "TestGuardHoldsOffTheNextHolder"},
	},
	{
		name: "a guard with a lock that an acquire passes", file: "sql/patterns/lease.sql",
		old: `for no key update;`, new: `for key share;`,
		why:    "whoever would acquire the lease waits for the guarded transaction to end",
		killer: killer{"tests/races", "TestGuardHoldsOffTheNextHolder"},
	},
	{
		name: "a lost guard says nothing", file: "sql/patterns/lease.sql",
		old: `  if not found then
    perform queen.kv_refuse_v1('kv_lease_lost`, new: `  if false then
    perform queen.kv_refuse_v1('kv_lease_lost`,
		why:    "a guard that finds the lease lost makes the transaction uncommittable",
		killer: killer{"tests/kvpg", "TestLeaseGuard"},
	},
	{
		name: "repeats are new", file: "sql/patterns/dedupe.sql",
		old: `n.key is not null and p.nth = 1`, new: `n.key is not null`,
		why:    "of a key that is named twice the first is new",
		killer: killer{"tests/sql", "TestDedupe$"},
	},
	{
		name: "expired keys are seen", file: "sql/patterns/dedupe.sql",
		old: `where found.live is not true`, new: `where found.live is null`,
		why:    "a key that expired is new",
		killer: killer{"tests/sql", "TestDedupe$"},
	},
	{
		name: "new keys in any order", file: "sql/patterns/dedupe.sql",
		old: `order by k.key collate "C" -- the order of the locks`, new: `order by random()`,
		why:    "a set-based write locks in order, or two of them are in a deadlock",
		killer: killer{"tests/races", "TestPatternsTakeKeysInOrder"},
	},
	{
		name: "lost keys are new", file: "sql/patterns/dedupe.sql",
		old: `v_new := v_new || v_made;`, new: `v_new := v_new || v_free;`,
		why:    "a key is new to exactly one of those who wait",
		killer: killer{"tests/races", "TestPatternsWait"},
	},
	{
		name: "seen keys dead at birth", file: "sql/patterns/dedupe.sql",
		old: `if p_now is null and queen.kv_expiry_v1(v_now, p_ttl_ms) <= clock_timestamp() then`, new: `if false then`,
		why:    "an expiry that passed in a wait is stamped again",
		killer: killer{"tests/sql", "TestPatternsThatWaitedLongerThanTheirTime"},
	},
	{
		name: "a cut list is unstable", file: "kvpg/dedupe.go",
		old: `strings.Compare(keys[i], keys[j]), i-j)`, new: `strings.Compare(keys[i], keys[j]), j-i)`,
		why:    "of equal keys the first is new, also across the cuts of a long list",
		killer: killer{"tests/kvpg", "TestDedupeOfALongList"},
	},
	{
		name: "held from the answer on", file: "kvpg/lease/hold.go",
		old: `	h := &holder{`, new: `	sent = time.Now()
	h := &holder{`,
		why:    "the local deadline counts from before the request was sent, or another holder may be there before it",
		killer: killer{"kvpg/lease", "TestHoldLosesTheLease$"},
	},
	{
		name: "a loss that is heard late", file: "kvpg/lease/renew.go",
		old: `		case !held:
			return lostBecause(errOver)
`, new: `		case !held:
			continue
`,
		why:    "the function's context ends when the lease is found lost, not when its time has passed",
		killer: killer{"kvpg/lease", "TestHoldLosesTheLease$"},
	},
}
