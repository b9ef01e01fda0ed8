package main

// Who may call what.
var access = []mutant{
	{
		name: "functions for PUBLIC", file: "sql/028_kv_access.sql",
		old: "revoke all on all routines in schema queen from public;\n", new: "",
		why:    "nothing is granted to PUBLIC, EXECUTE on functions included",
		killer: killer{"tests/sql", "TestNothingForPublic"},
	},
	{
		name: "a reader writes", file: "sql/028_kv_access.sql",
		old: `  if p_level collate "C" in ('writer', 'admin') then
    execute format('grant insert`, new: `  if p_level collate "C" in ('reader', 'writer', 'admin') then
    execute format('grant insert`,
		why:    "a reader's writes fail with 42501",
		killer: killer{"tests/sql", "TestLevels"},
	},
	{
		name: "a reader runs Once", file: "sql/028_kv_access.sql",
		old: `when p.proname in ('kv_once_begin_v1', 'kv_once_end_v1') then p_level collate "C" in ('writer', 'admin')`, new: `when p.proname in ('kv_once_begin_v1', 'kv_once_end_v1') then true`,
		why:    "a level is the least it needs",
		killer: killer{"tests/sql", "TestLevels"},
	},
	{
		name: "the sweeper reads values", file: "sql/028_kv_access.sql",
		old: `grant delete, select (tenant_id, namespace, key, expires_at, shard, ctid), update`, new: `grant delete, select, update`,
		why:    "the sweeper may delete and measure, and not read values",
		killer: killer{"tests/sql", "TestLevels"},
	},
	{
		name: "a caller's operators", file: "sql/024_kv.sql",
		old: "set search_path = pg_catalog, pg_temp\n", new: "",
		why:    "no schema ahead of pg_catalog has a say in what the functions do",
		killer: killer{"tests/conformance", "TestHostileSearchPath"},
	},
}
