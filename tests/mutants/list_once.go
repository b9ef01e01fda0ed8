package main

// Once, in SQL.
var once = []mutant{
	{
		name: "a lock left out", file: "sql/patterns/once.sql", quick: true,
		old: `perform pg_advisory_xact_lock_shared(v_lock);`, new: `null;`,
		why:    "a Busy caller is told at once that another one is at it",
		killer: killer{"tests/races", "TestMatrix/^Once,_Busy$"},
	},
	{
		name: "a lock that waiters fight for", file: "sql/patterns/once.sql",
		old: `perform pg_advisory_xact_lock_shared(v_lock);`, new: `perform pg_advisory_xact_lock(v_lock);`,
		why:    "any number of waiters wake together",
		killer: killer{"tests/races", "TestOnceWaitersWakeTogether"},
	},
	{
		name: "not read again", file: "sql/patterns/once.sql",
		old: `      continue;
    elsif not v_got_lock then`, new: `    end if;
    if not v_got_lock then`,
		why:    "who has the lock reads again, and only then inserts",
		killer: killer{"tests/races", "TestOnceReadsAgain"},
	},
	{
		name: "fingerprint before reentry", file: "sql/patterns/once.sql",
		old: `    when p_value ->> 'once' = 'pending' collate "C" and p_value ->> 'xid' = p_xid::text collate "C" then 'reentry'
`, new: `    when p_value ->> 'once' = 'pending' collate "C" and p_value ->> 'fingerprint' is distinct from queen.kv_once_fingerprint_v1(p_fingerprint) collate "C" then 'mismatch'
    when p_value ->> 'once' = 'pending' collate "C" and p_value ->> 'xid' = p_xid::text collate "C" then 'reentry'
`,
		why:    "reentry is judged before the fingerprint",
		killer: killer{"tests/races", "TestOnceReentry"},
	},
	{
		name: "reentry ends with the expiry", file: "sql/patterns/once.sql",
		old:    `when p_value ->> 'once' = 'pending' collate "C" and p_value ->> 'xid'`,
		new:    `when queen.kv_live_v1(p_expires_at, p_now) and p_value ->> 'once' = 'pending' collate "C" and p_value ->> 'xid'`,
		why:    "the function may outlive its own marker, and is not run twice in it",
		killer: killer{"tests/races", "TestOnceWaitedLongerThanItsTTL"},
	},
	{
		name: "an unfinished effect runs again", file: "sql/patterns/once.sql",
		old: `when p_value ->> 'once' = 'pending' collate "C" then 'unfinished'`, new: `when p_value ->> 'once' = 'pending' collate "C" then null`,
		why:    "an effect whose fate is unknown is never run again",
		killer: killer{"tests/races", "TestOnceUnfinished"},
	},
	{
		name: "given matches not given", file: "sql/patterns/once.sql",
		old:    `p_value ->> 'fingerprint' is distinct from queen.kv_once_fingerprint_v1(p_fingerprint)`,
		new:    `p_value ->> 'fingerprint' <> queen.kv_once_fingerprint_v1(p_fingerprint)`,
		why:    "a fingerprint given against not given is a mismatch",
		killer: killer{"tests/races", "TestOnceForeignAndMismatch"},
	},
	{
		name: "fingerprint stored as it came", file: "sql/patterns/once.sql",
		old: `encode(sha256(p_fingerprint), 'hex')`, new: `encode(p_fingerprint, 'hex')`,
		why:    "of a fingerprint only its SHA-256 is stored",
		killer: killer{"tests/races", "TestOnceFingerprintIsHashed"},
	},
	{
		name: "end ignores the token", file: "sql/patterns/once.sql",
		old: `    and kv.version = p_token and kv.value`, new: `    and kv.value`,
		why:    "end matches the marker that this begin made",
		killer: killer{"tests/races", "TestOnceLost"},
	},
	{
		name: "end ignores the transaction", file: "sql/patterns/once.sql",
		old: `
    and kv.value ->> 'xid' = pg_current_xact_id_if_assigned()::text collate "C";`, new: `;`,
		why:    "end in another transaction than begin is lost: the effect was not committed with it",
		killer: killer{"tests/races", "TestOnceUnfinished"},
	},
	{
		name: "end keeps a dead expiry", file: "sql/patterns/once.sql",
		old: `    expires_at = case when queen.kv_live_v1(kv.expires_at, v_now) then kv.expires_at
                      else queen.kv_expiry_v1(v_now, (kv.value -> 'ttlMs')::bigint) end`, new: `    expires_at = kv.expires_at`,
		why:    "an expiry that passed while the function ran is stamped again",
		killer: killer{"tests/races", "TestOnceWaitedLongerThanItsTTL"},
	},
	{
		name: "a lost end says nothing", file: "sql/patterns/once.sql",
		old: `  if not found then
    perform queen.kv_refuse_v1('kv_once_lost`, new: `  if false then
    perform queen.kv_refuse_v1('kv_once_lost`,
		why:    "an end that matches nothing raises kv_once_lost, which rolls back what is left",
		killer: killer{"tests/kvpg", "TestOnceFailureCannotBeCommitted"},
	},
}
