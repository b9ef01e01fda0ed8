package main

// What a call is refused for.
var refusals = []mutant{
	{
		name: "unknown field accepted", file: "sql/helpers/kv_op_fault_v1.sql",
		old: `p_op - v_fields <> '{}'`, new: `false`,
		why:    "a misspelt expect would turn a compare-and-set into an overwrite",
		killer: killer{"tests/conformance", "TestPlain/^unknown_field"},
	},
	{
		name: "unknown field accepted, the short way", file: "sql/helpers/kv_plain_expiry_v1.sql",
		old: `p_op - (p_fields || 'ttlMs'::text) = '{}'
         and `, new: ``,
		why:    "a misspelt expect would turn a compare-and-set into an overwrite",
		killer: killer{"tests/sql", "TestPlainOpsAreGood"},
	},
	{
		name: "two expiries, the short way", file: "sql/helpers/kv_plain_expiry_v1.sql",
		old: `p_op - p_fields = '{"forever": true}'`, new: `p_op @> '{"forever": true}'`,
		why:    "exactly one of ttlSeconds, ttlMs and forever: true",
		killer: killer{"tests/sql", "TestPlainOpsAreGood"},
	},
	{
		name: "a namespace of any length, the short way", file: "sql/helpers/kv_plain_op_v1.sql",
		old: `
     and octet_length(p_op ->> 'ns') <= queen.kv_limit_v1('namespace_bytes')`, new: ``,
		why:    "a namespace has at most 64 bytes",
		killer: killer{"tests/sql", "TestPlainOpsAreGood"},
	},
	{
		name: "a key of any length, the short way", file: "sql/helpers/kv_plain_op_v1.sql",
		old: `
     and octet_length(p_op ->> 'key') <= queen.kv_limit_v1('key_bytes')`, new: ``,
		why:    "a key has at most 2,048 bytes",
		killer: killer{"tests/sql", "TestPlainOpsAreGood"},
	},
	{
		name: "tenant field accepted", file: "sql/helpers/kv_op_fault_v1.sql",
		old:    `when 'put', 'putIfAbsent' then v_fields := '{op,ns,`,
		new:    `when 'put', 'putIfAbsent' then v_fields := '{tenant,op,ns,`,
		why:    "the tenant is an argument, never a field",
		killer: killer{"tests/conformance", "TestPlain/^envelope"},
	},
	{
		name: "value ceiling off by one", file: "sql/helpers/kv_value_fault_v1.sql",
		old: `if octet_length(p_value::text) > v_ceiling then`, new: `if octet_length(p_value::text) >= v_ceiling then`,
		why:    "65,536 bytes of text are allowed",
		killer: killer{"tests/conformance", "TestPlain/^ceiling"},
	},
	{
		name: "a value as deep as you like", file: "sql/helpers/kv_value_fault_v1.sql",
		old: `strict $.**{1000} ?`, new: `strict $.**{2000} ?`,
		why:    "a value is nested at most 1,000 deep",
		killer: killer{"tests/sql", "TestDepth"},
	},
	{
		name: "JSON null as an absent number", file: "sql/helpers/kv_number_fault_v1.sql",
		old: `when jsonb_typeof(p_value) <> 'number' collate "C" then`, new: `when jsonb_typeof(p_value) not in ('number', 'null') then`,
		why:    "JSON null for an optional field is an error, not an absent field",
		killer: killer{"tests/conformance", "TestPlain/^incr"},
	},
	{
		name: "two expiries", file: "sql/helpers/kv_expiry_fault_v1.sql",
		old: `then p_op ?& '{ttlSeconds,ttlMs}' or p_op @> '{"forever": true}'`, new: `then p_op ?& '{ttlSeconds,ttlMs}'`,
		why:    "exactly one expiry is declared",
		killer: killer{"tests/conformance", "TestPlain/^expiry"},
	},
	{
		name: "no tenant", file: "sql/helpers/kv_call_fault_v1.sql",
		old: `when p_tenant is null then`, new: `when false then`,
		why:    "a NULL tenant is refused, even for no ops",
		killer: killer{"tests/sql", "TestRefusedCalls"},
	},
}
