package main

// Calls of several ops: the order of locks, and the path that takes puts as one statement.
var batches = []mutant{
	{
		name: "run in input order", file: "sql/ops/kv_plan_v1.sql", quick: true,
		old: `array_agg(c.index order by c.ns, c.key, c.index)`, new: `array_agg(c.index order by c.index)`,
		why:    "writes run in ascending (namespace, key, index), so that two calls can't deadlock",
		killer: killer{"tests/races", "TestLockOrderIsByteOrder"},
	},
	{
		name: "run by key alone", file: "sql/ops/kv_plan_v1.sql",
		old: `array_agg(c.index order by c.ns, c.key, c.index)`, new: `array_agg(c.index order by c.key, c.ns, c.index)`,
		why:    "writes run in ascending (namespace, key, index)",
		killer: killer{"tests/races", "TestLockOrderIsByteOrder"},
	},
	{
		name: "ops of one key in any order", file: "sql/ops/kv_plan_v1.sql",
		old: `array_agg(c.index order by c.ns, c.key, c.index)`, new: `array_agg(c.index order by c.ns, c.key, c.index desc)`,
		why:    "ops on one key run in input order",
		killer: killer{"tests/conformance", "TestPlain/^same_key"},
	},
	{
		name: "lock order by the database's collation", file: "sql/ops/kv_plan_v1.sql",
		old: `case when f.fault is null then f.op ->> 'key' end collate "C" as key`, new: `case when f.fault is null then f.op ->> 'key' end as key`,
		why:    "lock order is byte order in every database",
		killer: killer{"tests/races", "TestLockOrderIsByteOrder"},
	},
	{
		name: "puts unsorted", file: "sql/ops/kv_put_batch_v1.sql",
		old: `  ), written as (
    insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
    select p_tenant, op.ns, op.key, op.op -> 'value', op.version, op.expires_at, p_now, p_now from op order by op.ns, op.key
`, new: `  ), written as (
    insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
    select p_tenant, op.ns, op.key, op.op -> 'value', op.version, op.expires_at, p_now, p_now from op
`,
		why:    "a set-based write locks in order",
		killer: killer{"tests/races", "TestLockOrderIsByteOrder/put_batch"},
	},
	{
		name: "puts with expect as one statement", file: "sql/ops/kv_plan_v1.sql",
		old: ` and not f.op ? 'expect' as is_plain_put`, new: ` as is_plain_put`,
		why:    "a put with expect keeps its precondition in a call of several",
		killer: killer{"tests/sql", "TestExpectBesideOtherPuts"},
	},
	{
		name: "a key twice in one statement", file: "sql/ops/kv_plan_v1.sql",
		old: `    and cardinality(single_key) = (
      select count(distinct e.op ->> 'ns' || '/' || (e.op ->> 'key')) from jsonb_array_elements(p_ops) as e (op));`,
		new:    `    ;`,
		why:    "several ops may name one key",
		killer: killer{"tests/sql", "TestPutBatchIsTheGeneralPath"},
	},
	{
		name: "one version for all puts of a call", file: "sql/ops/kv_put_batch_v1.sql",
		old: `nextval('queen.kv_version_seq') as version`, new: `(select nextval('queen.kv_version_seq')) as version`,
		why:    "each write has a version of its own",
		killer: killer{"tests/sql", "TestPutBatchVersions"},
	},
}
