package main

// What a write decides on, and what its verdict tells.
var decisions = []mutant{
	{
		name: "expect ignored in the decision", file: "sql/ops/kv_op_put_v1.sql",
		old: `v_reason := queen.kv_lost_reason_v1(v_expect, `, new: `v_reason := queen.kv_lost_reason_v1(null, `,
		why:    "a lost precondition is a verdict, and not 16 rounds in vain",
		killer: killer{"tests/conformance", "TestPlain/^expect"},
	},
	{
		name: "expect ignored in the UPDATE", file: "sql/ops/kv_op_put_v1.sql", quick: true,
		old: `
        and (v_expect is null or queen.kv_ver_v1(kv.version, kv.expires_at, p_now) = v_expect);`, new: `;`,
		why:    "an UPDATE repeats its precondition, which then holds for the row that it has locked",
		killer: killer{"tests/races", "TestMatrix/^put_expect_N$"},
	},
	{
		name: "expect ignored in the DELETE", file: "sql/ops/kv_op_delete_v1.sql",
		old: ` and (v_expect is null or kv.version = v_expect)`, new: ``,
		why:    "a DELETE repeats its precondition, which then holds for the row that it has locked",
		killer: killer{"tests/races", "TestMatrix/^delete_expect_N$"},
	},
	{
		name: "expect ignored in the touch", file: "sql/ops/kv_op_touch_v1.sql",
		old: ` and (v_expect is null or kv.version = v_expect)`, new: ``,
		why:    "an UPDATE repeats its precondition, which then holds for the row that it has locked",
		killer: killer{"tests/races", "TestMatrix/^touch_expect_N$"},
	},
	{
		name: "a touch brings the dead back", file: "sql/ops/kv_op_touch_v1.sql",
		old: `and queen.kv_live_v1(kv.expires_at, p_now) and (v_expect`, new: `and (v_expect`,
		why:    "a touch applies to a row that is alive when it is locked",
		killer: killer{"tests/races", "TestMatrix/^touch$"},
	},
	{
		name: "reasons mixed up", file: "sql/helpers/kv_lost_reason_v1.sql",
		old: `when p_expect = 0 then 'exists'`, new: `when p_version > 0 then 'exists'`,
		why:    "another version is the reason version",
		killer: killer{"tests/sql", "TestLostReason"},
	},
	{
		name: "INSERT first", file: "sql/024_kv.sql",
		old: `elsif current_setting('transaction_isolation') = 'read committed' then`, new: `else`,
		why:    "above READ COMMITTED an INSERT can succeed beside a row that the snapshot still sees",
		killer: killer{"tests/races", "TestMatrix/^put$"},
	},
	{
		name: "INSERT first, puts", file: "sql/ops/kv_plan_v1.sql",
		old: `
    and current_setting('transaction_isolation') = 'read committed'`, new: ``,
		why:    "above READ COMMITTED an INSERT can succeed beside a row that the snapshot still sees",
		killer: killer{"tests/races", "TestMatrix/^put_among_others$"},
	},
	{
		name: "a touch's verdict from the old snapshot", file: "sql/ops/kv_op_touch_v1.sql", quick: true,
		old: `
    returning kv.value, kv.version, kv.expires_at into v_seen;`, new: `;`,
		why:    "value and version come from the row that was locked, after the wait",
		killer: killer{"tests/races", "TestMatrix/^touch$"},
	},
	{
		name: "a delete's verdict from the old snapshot", file: "sql/ops/kv_op_delete_v1.sql",
		old: `
      returning kv.value, kv.version, kv.expires_at into v_seen;`, new: `;`,
		why:    "an applied delete shows what it deleted",
		killer: killer{"tests/races", "TestMatrix/^delete$"},
	},
	{
		name: "version drawn before the decision", file: "sql/ops/kv_op_put_v1.sql",
		old: `    v_found := found;
`, new: `    v_found := found;
    v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
`,
		why:    "an op that loses draws no version and writes no WAL",
		killer: killer{"tests/sql", "TestLosersLeaveNoTrace"},
	},
	{
		name: "a loser locks the row", file: "sql/ops/kv_op_put_v1.sql",
		old: `    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";
    v_found`, new: `    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
    for update;
    v_found`,
		why:    "an op that loses on a committed live row takes no row lock and no transaction id",
		killer: killer{"tests/sql", "TestLosersLeaveNoTrace"},
	},
	{
		name: "one round", file: "sql/helpers/kv_limit_v1.sql",
		old: `when 'rounds'            then 16`, new: `when 'rounds'            then 1`,
		why:    "when a statement changed nothing, the op reads and decides again, up to 16 times",
		killer: killer{"tests/races", "TestMatrix/^putIfAbsent$"},
	},
	{
		name: "a delete leaves the expired row", file: "sql/ops/kv_op_delete_v1.sql",
		old: `    else
      if found then`, new: `    else
      if false then`,
		why:    "deleting an expired row is absent, though the row goes",
		killer: killer{"tests/races", "TestMatrix/^delete$"},
	},
	{
		name: "a touch moves updated_at", file: "sql/ops/kv_op_touch_v1.sql",
		old: "update queen.kv set expires_at = v_expires_at\n", new: "update queen.kv set expires_at = v_expires_at, updated_at = p_now\n",
		why:    "a touch moves the expiry alone",
		killer: killer{"tests/races", "TestMatrix/^touch$"},
	},
	{
		name: "a touch draws a version", file: "sql/ops/kv_op_touch_v1.sql",
		old: "update queen.kv set expires_at = v_expires_at\n", new: "update queen.kv set expires_at = v_expires_at, version = nextval('queen.kv_version_seq')\n",
		why:    "a lease that is renewed by its version is still held by it",
		killer: killer{"tests/conformance", "TestPlain/^touch"},
	},
	{
		name: "required ignored", file: "sql/ops/kv_lost_v1.sql",
		old: `if p_op -> 'required' is distinct from 'true' then`, new: `if true then`,
		why:    "required turns a lost precondition into an error",
		killer: killer{"tests/kvpg", "TestRequiredOfEveryWrite$"},
	},
	{
		name: "DETAIL cut", file: "sql/ops/kv_lost_v1.sql", quick: true,
		old: `detail = v_detail::text;`, new: `detail = left(v_detail::text, 2000);`,
		why:    "DETAIL is always valid JSON",
		killer: killer{"tests/conformance", "TestPlain/^required"},
	},
	{
		name: "key cut in DETAIL", file: "sql/ops/kv_lost_v1.sql",
		old: `'key', p_op -> 'key',`, new: `'key', left(p_op ->> 'key', 1000),`,
		why:    "the key in DETAIL is always whole",
		killer: killer{"tests/conformance", "TestPlain/^required"},
	},
	{
		name: "a long value in DETAIL", file: "sql/ops/kv_lost_v1.sql",
		old: `if octet_length(v_detail::text) > queen.kv_limit_v1('detail_bytes') then`, new: `if false then`,
		why:    "a value that would take DETAIL past 4096 bytes is left out",
		killer: killer{"tests/conformance", "TestPlain/^required"},
	},
}
