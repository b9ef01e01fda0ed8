package main

// What a sweep deletes, leaves and says, and what a measurement tells.
var sweeper = []mutant{
	{
		name: "a sweeper waits", file: "sql/sweeper/kv_expire_hold_v1.sql",
		old: "for update skip locked", new: "for update",
		why:    "a step waits for no row lock",
		killer: killer{"tests/sweeper", "TestLockedRowIsLeft"},
	},
	{
		name: "done from further on", file: "sql/026_kv_sweeper.sql",
		old: "p_from is null and v_beyond is null", new: "v_beyond is null",
		why:    "only a pass that began at NULL can say that nothing is left",
		killer: killer{"tests/sweeper", "TestOldestFirst"},
	},
	{
		name: "nextFrom stays", file: "sql/026_kv_sweeper.sql",
		old: "case when v_deleted * 2 >= p_max_rows then least(v_first, v_from) else v_from end)", new: "coalesce(p_from, '0001-01-01Z'))",
		why:    "dead index entries at the head are not walked again in every step",
		killer: killer{"tests/sweeper", "TestDrainBesideAnOldSnapshot"},
	},
	{
		name: "walked over twice", file: "sql/026_kv_sweeper.sql",
		old: "kv_expire_hold_v1(v_shards, v_look.first,", new: "kv_expire_hold_v1(v_shards, v_from,",
		why:    "what was deleted is walked over once in a step",
		killer: killer{"tests/sweeper", "TestDrainBesideAnOldSnapshot"},
	},
	{
		name: "nothing is marked as dead", file: "sql/026_kv_sweeper.sql",
		old: "case when v_deleted * 2 >= p_max_rows then least(v_first, v_from) else v_from end)", new: "v_from)",
		why:    "the last step of a drain skips what was deleted",
		killer: killer{"tests/sweeper", "TestLastStepOfADrain"},
	},
	{
		name: "what a full step has no room for", file: "sql/026_kv_sweeper.sql",
		old: "then least(v_first, v_from) else", new: "then v_first else",
		why:    "nothing is to be done before nextFrom, where shards are uneven too",
		killer: killer{"tests/sweeper", "TestNothingBeforeNextFrom"},
	},
	{
		name: "the lag of a full step", file: "sql/026_kv_sweeper.sql",
		old: "      v_left_from := v_from; -- the window may hold more\n", new: "      null;\n",
		why:    "lagMs is the age of the oldest row left, in a window that holds more than the step may delete too",
		killer: killer{"tests/sweeper", "TestNothingBeforeNextFrom"},
	},
	{
		name: "no rest after a long step", file: "sql/sweeper/kv_sweep_turn_v1.sql",
		old: "greatest(v_pause, 3 * (p_state ->> 'took')::double precision)", new: "v_pause",
		why:    "a look that takes long is not repeated all the time",
		killer: killer{"tests/sweeper", "TestSweepPausesAfterALongStep"},
	},
	{
		name: "beyond what was seen", file: "sql/sweeper/kv_expire_look_v1.sql",
		old: "(select min(shard.times[v_reach]) from shard)) as expires_at", new: "null::timestamptz) as expires_at",
		why:    "a window ends where a shard was not looked at any further",
		killer: killer{"tests/sweeper", "TestOneShard"},
	},
	{
		name: "the first shards eat all", file: "sql/sweeper/kv_expire_look_v1.sql",
		old: "case when tied then v_share else p_budget end", new: "p_budget",
		why:    "shards are served fairly, rows of one microsecond too",
		killer: killer{"tests/sweeper", "TestOneMicrosecond"},
	},
	{
		name: "a shard named twice", file: "sql/026_kv_sweeper.sql",
		old: "select distinct u.shard", new: "select u.shard",
		why:    "duplicates count once",
		killer: killer{"tests/sweeper", "TestOneShard"},
	},
	{
		name: "no shards, nothing to do", file: "sql/sweeper/kv_expire_fault_v1.sql",
		old: "coalesce(cardinality(p_shards), 0) = 0", new: "cardinality(p_shards) = 0",
		why:    "no answer looks healthy while expired rows stand",
		killer: killer{"tests/sweeper", "TestStepArguments"},
	},
	{
		name: "a blind sweeper", file: "sql/026_kv_sweeper.sql",
		old: "elsif queen.kv_rows_hidden_v1() then", new: "elsif false then",
		why:    "a sweeper from whom rows are hidden doesn't say that all is done",
		killer: killer{"tests/sweeper", "TestSweeperFromWhomRowsAreHidden"},
	},
	{
		name: "a plan from old statistics", file: "sql/sweeper/kv_expire_delete_v1.sql",
		old: "set enable_indexscan = off\nset enable_indexonlyscan = off\n", new: "",
		why:    "a step finds its rows by their ctid, whatever the planner believes",
		killer: killer{"tests/sweeper", "TestPlans"},
	},
	{
		name: "a gone tenant's measurement", file: "sql/sweeper/kv_usage_next_v1.sql",
		old: "(select u.tenant_id from queen.kv_usage as u order by u.tenant_id limit 1));", new: "null::uuid);",
		why:    "a tenant whose rows are all gone goes to zero",
		killer: killer{"tests/sweeper", "TestUsageBackToZero"},
	},
	{
		name: "a stamp in the future", file: "sql/026_kv_sweeper.sql",
		old: "computed_at = excluded.computed_at;", new: "computed_at = excluded.computed_at\n        where kv_usage.computed_at <= excluded.computed_at;",
		why:    "a measurement stamped in the future doesn't freeze the next one",
		killer: killer{"tests/sweeper", "TestUsageStampedInTheFuture"},
	},
	{
		name: "an estimate without its label", file: "sql/sweeper/kv_usage_measure_v1.sql",
		old: "sampled := v_percent < 100;", new: "sampled := false;",
		why:    "an estimate says that it is one",
		killer: killer{"tests/sweeper", "TestUsage$"},
	},
	{
		name: "values unpacked", file: "sql/sweeper/kv_usage_measure_v1.sql",
		old: "pg_column_size(k.value)", new: "octet_length(k.value::text)",
		why:    "bytes are those that are stored, and nothing is unpacked to count them",
		killer: killer{"tests/sweeper", "TestUsage$"},
	},
	{
		name: "a measurement waits", file: "sql/026_kv_sweeper.sql",
		old: "for update skip locked;", new: "for update;",
		why:    "a tenant that another sweeper is at is left to it",
		killer: killer{"tests/sweeper", "TestUsageOfTwoSweepers"},
	},
	{
		name: "a sweep above read committed", file: "sql/026_kv_sweeper.sql",
		old: "    set transaction isolation level read committed;\n", new: "",
		why:    "each step runs in READ COMMITTED, whatever the session's default",
		killer: killer{"tests/sweeper", "TestSweepCall"},
	},
	{
		name: "rows of another tenant", file: "sql/optional/rls.sql",
		old: "create policy kv_tenant on queen.kv\n  using (", new: "create policy kv_tenant on queen.kv\n  using (true or ",
		why:    "a role sees the rows of its tenants",
		killer: killer{"tests/sweeper", "TestRowLevelSecurity"},
	},
}
