package main

// Reads: pages, budgets, order and tenants.
var reads = []mutant{
	{
		name: "getMany, the row that straddles is dropped", file: "sql/ops/kv_op_get_many_v1.sql",
		old: `elsif p_budget > 0 or v_rows = '{}' then`, new: `elsif p_budget >= v_row.size or v_rows = '{}' then`,
		why:    "rows are given while any of the budget is left",
		killer: killer{"tests/conformance", "TestPlain/^budget"},
	},
	{
		name: "getMany, no first row", file: "sql/ops/kv_op_get_many_v1.sql", quick: true,
		old: `elsif p_budget > 0 or v_rows = '{}' then`, new: `elsif p_budget > 0 then`,
		why:    "getMany gives at least one row, or a caller would ask again for ever",
		killer: killer{"tests/conformance", "TestPlain/^budget"},
	},
	{
		name: "getPrefix, no first row", file: "sql/ops/kv_op_get_prefix_v1.sql",
		old: `or p_budget <= 0 and not v_keys_only and v_rows <> '{}';`, new: `or p_budget <= 0 and not v_keys_only;`,
		why:    "a page always makes progress",
		killer: killer{"tests/conformance", "TestPlain/^(budget|paging)"},
	},
	{
		name: "a page without end", file: "sql/ops/kv_op_get_prefix_v1.sql",
		old: `p_budget <= 0 and not v_keys_only and v_rows <> '{}'`, new: `false`,
		why:    "a page ends where the read budget is spent",
		killer: killer{"tests/conformance", "TestPlain/^budget"},
	},
	{
		name: "limit off by one", file: "sql/ops/kv_op_get_prefix_v1.sql",
		old: `limit v_limit + 1`, new: `limit v_limit`,
		why:    "truncated says whether more rows follow",
		killer: killer{"tests/conformance", "TestPlain/^getPrefix"},
	},
	{
		name: "after inclusive", file: "sql/ops/kv_op_get_prefix_v1.sql",
		old: `
          and kv.key <> v_after collate "C"`, new: ``,
		why:    "after is exclusive",
		killer: killer{"tests/conformance", "TestPlain/^getPrefix"},
	},
	{
		name: "prefix as a pattern", file: "sql/ops/kv_op_get_prefix_v1.sql",
		old: `and starts_with(kv.key, v_prefix)`, new: `and kv.key like v_prefix || '%'`,
		why:    "%, _ and \\ in a prefix mean themselves",
		killer: killer{"tests/conformance", "TestPlain/^getPrefix"},
	},
	{
		name: "cursor by the database's collation", file: "sql/ops/kv_op_get_prefix_v1.sql",
		old: `greatest(v_prefix collate "C", v_after collate "C")`, new: `greatest(v_prefix, v_after)`,
		why:    "cursors are in byte order in every database",
		killer: killer{"tests/conformance", "TestProviders"},
	},
	{
		name: "a prefix ends at the surrogates", file: "sql/helpers/kv_prefix_end_v1.sql",
		old: `when 55295 then 57344`, new: `when -1 then 57344`,
		why:    "the bound of a prefix jumps the surrogate block",
		killer: killer{"tests/sql", "TestPrefixEnd$"},
	},
	{
		name: "a prefix of U+10FFFF has no end", file: "sql/helpers/kv_prefix_end_v1.sql",
		old: `repeat(chr(1114111), 513)`, new: `p_prefix || chr(1114111)`,
		why:    "the bound of a prefix of U+10FFFF alone is above every key",
		killer: killer{"tests/sql", "TestPrefixEnd$"},
	},
	{
		name: "getMany alone, the text's size ignored", file: "sql/ops/kv_op_get_few_v1.sql",
		old: `where found.small and found.size <= queen.kv_limit_v1('read_bytes')`, new: `where found.small`,
		why:    "the budget is of value text, not of what is stored",
		killer: killer{"tests/sql", "TestManySmallValuesOfLongText"},
	},
	{
		name: "getMany alone, all is read", file: "sql/ops/kv_op_get_few_v1.sql",
		old: `pg_column_size(kv.value) <= 2000 as small`, new: `true as small`,
		why:    "a budgeted read stops reading when its budget is spent",
		killer: killer{"tests/sql", "TestGetManyStopsReading"},
	},
	{
		name: "getMany alone, a large value is null", file: "sql/ops/kv_op_get_few_v1.sql",
		old: `where found.small and `, new: `where `,
		why:    "a row is shown with its value",
		killer: killer{"tests/sql", "TestGetManyAnswersEachKeyOnce"},
	},
	{
		name: "getMany alone, missing sorted", file: "sql/ops/kv_op_get_few_v1.sql",
		old: `order by min(e.position)`, new: `order by e.key`,
		why:    "missing keys come in input order",
		killer: killer{"tests/sql", "TestGetManyAnswersEachKeyOnce"},
	},
	{
		name: "getMany alone, repeated keys missing", file: "sql/ops/kv_op_get_few_v1.sql",
		old:    `group by e.key having e.key <> all (found.keys) order by min(e.position)`,
		new:    `where e.key <> all (found.keys) order by e.position`,
		why:    "each distinct key is answered once",
		killer: killer{"tests/sql", "TestGetManyAnswersEachKeyOnce"},
	},
	{
		name: "getMany alone, dead rows", file: "sql/ops/kv_op_get_few_v1.sql",
		old: `
              and queen.kv_live_v1(kv.expires_at, p_now)`, new: ``,
		why:    "a row whose expires_at has passed does not exist",
		killer: killer{"tests/sql", "TestGetManyAnswersEachKeyOnce"},
	},
	{
		name: "getMany alone, another tenant's rows", file: "sql/ops/kv_op_get_few_v1.sql",
		old: `where kv.tenant_id = p_tenant and kv.namespace`, new: `where kv.namespace`,
		why:    "identity is (tenant, namespace, key)",
		killer: killer{"tests/sql", "TestGetManyAnswersEachKeyOnce"},
	},
	{
		name: "getMany, missing sorted", file: "sql/ops/kv_op_get_many_v1.sql",
		old: `order by kv.key is not null, case when kv.key is null then k.position end, k.key`, new: `order by kv.key is not null, k.key`,
		why:    "missing keys come in input order",
		killer: killer{"tests/conformance", "TestBesideAnother/^getMany"},
	},
	{
		name: "getMany, rows by the database's collation", file: "sql/ops/kv_op_get_many_v1.sql",
		old: `          select e.key collate "C" as key, min(e.position) as position
          from jsonb_array_elements_text(p_op -> 'keys') with ordinality as e (key, position)
          group by e.key collate "C"`, new: `          select e.key as key, min(e.position) as position
          from jsonb_array_elements_text(p_op -> 'keys') with ordinality as e (key, position)
          group by e.key`,
		why:    "rows come in byte order in every database",
		killer: killer{"tests/conformance", "TestProviders"},
	},
	{
		name: "another tenant's row", file: "sql/ops/kv_op_get_v1.sql",
		old: `where kv.tenant_id = p_tenant and kv.namespace`, new: `where kv.namespace`,
		why:    "identity is (tenant, namespace, key)",
		killer: killer{"tests/conformance", "TestPlain/^(tenant|put|boundary|expect)"},
	},
	{
		name: "the session's time zone", file: "sql/helpers/kv_time_v1.sql",
		old: `to_char(p_time at time zone 'UTC', `, new: `to_char(p_time, `,
		why:    "times in results are UTC, whatever the session says",
		killer: killer{"tests/conformance", "TestOddTimes/././^times"},
	},
	{
		name: "a key of the database's collation", file: "sql/024_kv.sql",
		old: `key        text        not null collate "C",`, new: `key        text        not null,`,
		why:    "keys compare and sort as bytes in every database",
		killer: killer{"tests/sql", "TestTable"},
	},
}
