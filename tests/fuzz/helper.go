package fuzz

import "strings"

// helperCall is one of the functions that are total: they answer whatever their arguments are, and raise nothing.
func helperCall(s source) call {
	json := func(s source) arg { return orNull(s, "jsonb", oddJSON) }
	time := func(s source) arg {
		return orNull(s, "timestamptz", func(s source) string { return orEmpty(nowArg(s).text, "infinity") })
	}
	number := func(s source) arg {
		return orNull(s, "numeric", func(s source) string { return pick(s, oddNumber(s), "NaN", "Infinity", "-Infinity") })
	}
	integer := func(s source) arg {
		return orNull(s, "bigint", func(s source) string { return pick(s, boundNumbers...) })
	}
	plain := func(s source) arg { return orNull(s, "text", oddText) }
	flag := wireArg
	return choose(s, []choice[call]{
		{3, total("kv_op_fault_v1", func(s source) arg {
			return orNull(s, "jsonb", func(s source) string { return mutate(s, goodOp(s)).text(s) })
		}, flag)},
		{1, total("kv_op_fault_v1", json, flag)},
		{2, total("kv_value_fault_v1", json)},
		{1, total("kv_value_small_v1", json)},
		{1, total("kv_keys_fault_v1", json)},
		{1, total("kv_page_fault_v1", json, flag)},
		{1, total("kv_expiry_fault_v1", json)},
		{1, total("kv_number_fault_v1", plain, json)},
		{1, total("kv_number_ok_v1", number)},
		{1, total("kv_incr_fits_v1", number, number, number, number)},
		{1, total("kv_num_v1", json, time, time)},
		{1, total("kv_ver_v1", integer, time, time)},
		{1, total("kv_live_v1", time, time)},
		{1, total("kv_lost_reason_v1", integer, integer)},
		{1, total("kv_now_ok_v1", time)},
		{1, total("kv_time_v1", time)},
		{1, total("kv_namespace_fault_v1", plain)},
		{1, total("kv_key_fault_v1", plain)},
		{2, total("kv_prefix_end_v1", plain)},
		{1, total("kv_limit_v1", plain)},
		{1, total("kv_once_lock_v1", func(s source) arg { return tenantArg(s, "00000000-0000-0000-0000-000000000002") }, plain, plain)},
		{1, total("kv_once_fingerprint_v1", bytes)},
		{2, total("kv_once_state_v1", func(s source) arg { return orNull(s, "jsonb", marker) }, time, time,
			func(s source) arg { return pick(s, null("xid8"), text("xid8", "1")) }, bytes)},
		{1, total("kv_call_fault_v1", json, func(s source) arg { return tenantArg(s, "00000000-0000-0000-0000-000000000002") }, time, flag)},
	})
}

func total(function string, args ...func(source) arg) func(source) call {
	return func(s source) call {
		c := call{function: function, noCode: true}
		for _, a := range args {
			c.args = append(c.args, a(s))
		}
		return c
	}
}

func orNull(s source, typ string, value func(source) string) arg {
	if s.one(10) {
		return null(typ)
	}
	return text(typ, value(s))
}

func orEmpty(s *string, otherwise string) string {
	if s == nil || strings.TrimSpace(*s) == "" {
		return otherwise
	}
	return *s
}
