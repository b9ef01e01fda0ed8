package main

// incr: its bounds, its expiry and its races.
var increments = []mutant{
	{
		name: "incr restarts a live expiry", file: "sql/ops/kv_op_incr_v1.sql",
		old:    `v_expires_at := case when v_live then v_seen.expires_at else queen.kv_expiry_v1(p_now, v_ttl_ms) end;`,
		new:    `v_expires_at := queen.kv_expiry_v1(p_now, v_ttl_ms);`,
		why:    "a live counter keeps its expiry: a fixed window must close",
		killer: killer{"tests/conformance", "TestPlain/^incr"},
	},
	{
		name: "max exclusive", file: "sql/helpers/kv_incr_fits_v1.sql", quick: true,
		old: `p_sum <= p_max`, new: `p_sum < p_max`,
		why:    "an increase is refused above max, not at it",
		killer: killer{"tests/sql", "TestIncrFits"},
	},
	{
		name: "min exclusive", file: "sql/helpers/kv_incr_fits_v1.sql",
		old: `p_sum >= p_min`, new: `p_sum > p_min`,
		why:    "a decrease is refused below min, not at it",
		killer: killer{"tests/sql", "TestIncrFits"},
	},
	{
		name: "no step back", file: "sql/helpers/kv_incr_fits_v1.sql",
		old: `p_max is null or p_delta <= 0 or`, new: `p_max is null or`,
		why:    "a step back towards the range is allowed",
		killer: killer{"tests/sql", "TestIncrFits"},
	},
	{
		name: "incr saturates", file: "sql/ops/kv_op_incr_v1.sql",
		old:    `v_sum := queen.kv_num_v1(v_seen.value, v_seen.expires_at, p_now) + v_delta;`,
		new:    `v_sum := least(queen.kv_num_v1(v_seen.value, v_seen.expires_at, p_now) + v_delta, (p_op -> 'max')::numeric);`,
		why:    "a step that would pass its bound is not taken at all",
		killer: killer{"tests/conformance", "TestPlain/^incr"},
	},
	{
		name: "an expired number counts on, incr", file: "sql/ops/kv_op_incr_v1.sql",
		old:    `v_sum := queen.kv_num_v1(v_seen.value, v_seen.expires_at, p_now) + v_delta;`,
		new:    `v_sum := queen.kv_num_v1(v_seen.value, null, p_now) + v_delta;`,
		why:    "an expired row counts as 0",
		killer: killer{"tests/conformance", "TestPlain/^expired"},
	},
	{
		name: "incr of an image that is gone", file: "sql/ops/kv_op_incr_v1.sql",
		old: `
        and kv.version = v_seen.version and kv.expires_at is not distinct from v_seen.expires_at;`, new: `;`,
		why:    "the sum is made from the row that is overwritten, or increments are lost",
		killer: killer{"tests/races", "TestIncrIsExact"},
	},
	{
		name: "incr undoes a touch", file: "sql/ops/kv_op_incr_v1.sql",
		old: ` and kv.expires_at is not distinct from v_seen.expires_at;`, new: `;`,
		why:    "a touch moves the expiry and leaves the version: both make the row image",
		killer: killer{"tests/races", "TestMatrix/^incr_in_bounds$"},
	},
	{
		name: "zeros kept", file: "sql/ops/kv_op_incr_v1.sql",
		old: `to_jsonb(trim_scale(v_sum))`, new: `to_jsonb(v_sum)`,
		why:    "trailing zeros of a result are trimmed",
		killer: killer{"tests/conformance", "TestPlain/^incr"},
	},
	{
		name: "incr restarts a live expiry, the short way", file: "sql/024_kv.sql",
		old:    `update queen.kv set value = v_seen.value, version = v_version, updated_at = v_now`,
		new:    `update queen.kv set value = v_seen.value, version = v_version, updated_at = v_now, expires_at = queen.kv_expiry_v1(v_now, queen.kv_ttl_ms_v1(v_op))`,
		why:    "a live counter keeps its expiry: a fixed window must close",
		killer: killer{"tests/conformance", "TestOneByOne/^incr"},
	},
	{
		name: "incr of an image that is gone, the short way", file: "sql/024_kv.sql",
		old: `
            and kv.version = v_seen.version and kv.expires_at is not distinct from v_seen.expires_at
`, new: "\n",
		why:    "the sum is made from the row that is overwritten, or increments are lost",
		killer: killer{"tests/races", "TestIncrIsExact"},
	},
	{
		name: "incr of the dead, the short way", file: "sql/024_kv.sql",
		old: `
          and queen.kv_live_v1(kv.expires_at, v_now)
          and case`, new: `
          and case`,
		why:    "an expired row counts as 0",
		killer: killer{"tests/conformance", "TestOneByOne/^expired"},
	},
	{
		name: "zeros kept, the short way", file: "sql/024_kv.sql",
		old: `to_jsonb(trim_scale(kv.value::numeric + (v_op -> 'delta')::numeric)) as value`, new: `to_jsonb(kv.value::numeric + (v_op -> 'delta')::numeric) as value`,
		why:    "trailing zeros of a result are trimmed",
		killer: killer{"tests/conformance", "TestOneByOne/^incr"},
	},
}
