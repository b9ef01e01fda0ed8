package main

// Existence, time, and the versions that tell one life of a key from the next.
var existence = []mutant{
	{
		name: "live at the boundary", file: "sql/helpers/kv_live_v1.sql", quick: true,
		old: `p_expires_at > p_now`, new: `p_expires_at >= p_now`,
		why:    "a row is alive strictly before its expiry; the sweeper deletes at the boundary",
		killer: killer{"tests/conformance", "TestPlain/^boundary"},
	},
	{
		name: "forever is never", file: "sql/helpers/kv_live_v1.sql",
		old: `p_expires_at is null or p_expires_at > p_now`, new: `p_expires_at > p_now`,
		why:    "a NULL expiry means for ever",
		killer: killer{"tests/sql", "TestLive$"},
	},
	{
		name: "version of an absent row is NULL", file: "sql/helpers/kv_ver_v1.sql",
		old: `coalesce(p_version, 0::bigint)`, new: `p_version`,
		why:    "kv_ver_v1 is total: an absent row has version 0",
		killer: killer{"tests/sql", "TestVer$"},
	},
	{
		name: "an expired row keeps its version", file: "sql/helpers/kv_ver_v1.sql",
		old:    `case when queen.kv_live_v1(p_expires_at, p_now) then coalesce(p_version, 0::bigint) else 0::bigint end`,
		new:    `coalesce(p_version, 0::bigint)`,
		why:    "a compare-and-set against a dead lineage can't succeed",
		killer: killer{"tests/conformance", "TestPlain/^expired"},
	},
	{
		name: "a strict helper", file: "sql/helpers/kv_ver_v1.sql",
		old: `language sql immutable parallel safe`, new: `language sql immutable strict parallel safe`,
		why:    "no helper is STRICT: a NULL argument has an answer",
		killer: killer{"tests/sql", "TestVer$"},
	},
	{
		name: "an expired number counts on", file: "sql/helpers/kv_num_v1.sql",
		old:    `queen.kv_live_v1(p_expires_at, p_now) and jsonb_typeof`,
		new:    `jsonb_typeof`,
		why:    "kv_num_v1 is 0 for an expired row",
		killer: killer{"tests/sql", "TestNum$"},
	},
	{
		name: "the transaction's time", file: "sql/024_kv.sql",
		old: `coalesce(p_now, clock_timestamp())`, new: `coalesce(p_now, now())`,
		why:    "p_now NULL is the clock: a marker written late in a long transaction is not born dead",
		killer: killer{"tests/sql", "TestNowIsTheClock"},
	},
	{
		name: "not stamped again, incr", file: "sql/ops/kv_op_incr_v1.sql",
		old: `if p_restamp and not v_live and v_expires_at`, new: `if false and v_expires_at`,
		why:    "an expiry that passed while the op waited for a lock is stamped again",
		killer: killer{"tests/sql", "TestExpiryIsStampedAgain/incr"},
	},
	{
		name: "not stamped again, puts", file: "sql/ops/kv_put_batch_v1.sql",
		old: `if p_restamp and v_first_expiry`, new: `if false and v_first_expiry`,
		why:    "an expiry that passed while the call waited for a lock is stamped again",
		killer: killer{"tests/sql", "TestExpiryIsStampedAgain/puts"},
	},
	{
		name: "stamped again though p_now was given", file: "sql/ops/kv_put_batch_v1.sql",
		old: `if p_restamp and v_first_expiry`, new: `if v_first_expiry`,
		why:    "with p_now the expiry is p_now's, whatever the clock says",
		killer: killer{"tests/sql", "TestGivenNowIsKept"},
	},
	{
		name: "created_at survives death, put", file: "sql/024_kv.sql",
		old:    `created_at = case when queen.kv_live_v1(kv.expires_at, excluded.updated_at) then kv.created_at else excluded.created_at end`,
		new:    `created_at = kv.created_at`,
		why:    "overwriting an expired row starts a new lineage",
		killer: killer{"tests/races", "TestMatrix/^put$"},
	},
	{
		name: "created_at survives death, put with expect", file: "sql/ops/kv_op_put_v1.sql",
		old:    `created_at = case when queen.kv_live_v1(kv.expires_at, p_now) then kv.created_at else p_now end`,
		new:    `created_at = kv.created_at`,
		why:    "overwriting an expired row starts a new lineage",
		killer: killer{"tests/races", "TestMatrix/^putIfAbsent$"},
	},
	{
		name: "created_at survives death, incr", file: "sql/ops/kv_op_incr_v1.sql",
		old:    `created_at = case when v_live then kv.created_at else p_now end`,
		new:    `created_at = kv.created_at`,
		why:    "an incr over an expired row starts a new lineage",
		killer: killer{"tests/races", "TestMatrix/^incr$"},
	},
	{
		name: "version + 1", file: "sql/ops/kv_op_put_v1.sql", quick: true,
		old: `v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
    if v_found`,
		new: `v_version := coalesce(v_seen.version, 0) + 1;
    if v_found`,
		why:    "no version is issued twice for a key: a key made anew must not repeat one that an old holder carries",
		killer: killer{"tests/sql", "TestNoVersionTwice"},
	},
	{
		name: "version + 1, incr", file: "sql/ops/kv_op_incr_v1.sql",
		old:    `v_version := coalesce(v_version, nextval('queen.kv_version_seq'));`,
		new:    `v_version := coalesce(v_seen.version, 0) + 1;`,
		why:    "no version is issued twice for a key: a counter made anew must not repeat one that an old holder carries",
		killer: killer{"tests/sql", "TestNoVersionTwice"},
	},
	{
		name: "version + 1, the short way of incr", file: "sql/024_kv.sql",
		old:    `v_version := nextval('queen.kv_version_seq');`,
		new:    `v_version := v_seen.version + 1;`,
		why:    "no version is issued twice for a key: versions come from the sequence, and from nowhere else",
		killer: killer{"tests/sql", "TestNoVersionTwice"},
	},
	{
		name: "not stamped again, the short way of put", file: "sql/024_kv.sql",
		old: `if p_now is null and v_expires_at <= clock_timestamp() then`, new: `if false then`,
		why:    "a write that waited longer than its ttl must not be born dead",
		killer: killer{"tests/sql", "TestExpiryIsStampedAgain/put"},
	},
}
