package sql

import "testing"

// The contract's table of limits, in its order.
func TestLimits(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{"queen.kv_limit_v1('namespace_bytes')", "64"},
		{"queen.kv_limit_v1('key_bytes')", "2048"},
		{"queen.kv_limit_v1('value_bytes')", "65536"},
		{"queen.kv_limit_v1('value_depth')", "1000"},
		{"queen.kv_limit_v1('ops')", "256"},
		{"queen.kv_limit_v1('ops_in_wire')", "64"},
		{"queen.kv_limit_v1('keys')", "4096"},
		{"queen.kv_limit_v1('keys_in_wire')", "256"},
		{"queen.kv_limit_v1('ttl_ms')", "3155760000000"}, // 3,155,760,000 seconds
		{"queen.kv_limit_v1('read_bytes')", "4194304"},   // 4 MiB
		{"queen.kv_limit_v1('page')", "100"},
		{"queen.kv_limit_v1('page_max')", "1000"},
		{"queen.kv_limit_v1('detail_bytes')", "4096"},
		{"queen.kv_limit_v1('once_result_bytes')", "48000"},
		{"queen.kv_limit_v1('rounds')", "16"},
		{"queen.kv_limit_v1('sweep_rows')", "1000000"},
		{"queen.kv_limit_v1('sweep_windows')", "8"},
		{"queen.kv_limit_v1('usage_exact_rows')", "50000"},
		{"queen.kv_limit_v1('usage_pages')", "4096"},
		{"queen.kv_limit_v1('usage_step_rows')", "200000"},
		{"queen.kv_limit_v1('no such limit')", "NULL"},
		{"queen.kv_limit_v1(null)", "NULL"},
	})
}

// 1 to 64 bytes, ^[a-z0-9][a-z0-9._-]*$.
func TestNamespaceFault(t *testing.T) {
	t.Parallel()
	var checks []check
	for _, ns := range []string{"'a'", "'9'", "'a.b_c-d9'", "repeat('a', 64)"} {
		checks = append(checks, check{"queen.kv_namespace_fault_v1(" + ns + ")", "NULL"})
	}
	for _, ns := range []string{"''", "null", "repeat('a', 65)", "'A'", "'.a'", "'_a'", "'-a'", "'a b'", "'a/b'", "'ä'", "'aä'", "E'a\\n'",
		"E'\\na'", "'a%'", "repeat('a', 100000)"} {
		checks = append(checks, check{"split_part(queen.kv_namespace_fault_v1(" + ns + "), ' ', 1)", "kv_bad_namespace"})
	}
	checkAll(t, checks)
}

// 1 to 2048 bytes of UTF-8: bytes and not characters.
func TestKeyFault(t *testing.T) {
	t.Parallel()
	code := func(key string) string { return "split_part(queen.kv_key_fault_v1(" + key + "), ' ', 1)" }
	checkAll(t, []check{
		{code("'k'"), "NULL"},
		{code("' '"), "NULL"},
		{code("repeat('k', 2048)"), "NULL"},
		{code("repeat('ß', 1024)"), "NULL"},
		{code("repeat('k', 2049)"), "kv_key_too_large"},
		{code("repeat('ß', 1024) || 'k'"), "kv_key_too_large"},
		{code("''"), "kv_bad_key"},
		{code("null"), "kv_bad_key"},
	})
}

// Finite and within the years 1 to 9899; NULL, which reads the clock, is neither.
func TestNowOK(t *testing.T) {
	t.Parallel()
	var checks []check
	for _, now := range []string{"'0001-01-01Z'", "'9899-12-31 23:59:59.999999Z'", "'2031-01-01Z'"} {
		checks = append(checks, check{"queen.kv_now_ok_v1(" + now + ")", "true"})
	}
	for _, now := range []string{"'infinity'", "'-infinity'", "'9900-01-01Z'", "'0001-12-31 23:59:59.999999Z BC'", "'4713-01-01Z BC'",
		"'294276-12-31Z'"} {
		checks = append(checks, check{"queen.kv_now_ok_v1(" + now + ")", "false"})
	}
	checks = append(checks, check{"queen.kv_now_ok_v1(null)", "NULL"})
	checkAll(t, checks)
}

// A lifetime from an op that was checked: milliseconds, NULL for ever.
func TestTTL(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{`queen.kv_ttl_ms_v1('{"ttlMs": 1500}')`, "1500"},
		{`queen.kv_ttl_ms_v1('{"ttlSeconds": 60.0}')`, "60000"},
		{`queen.kv_ttl_ms_v1('{"ttlSeconds": 3155760000}')`, "3155760000000"},
		{`queen.kv_ttl_ms_v1('{"ttlMs": 1e3, "forever": false}')`, "1000"},
		{`queen.kv_ttl_ms_v1('{"forever": true}')`, "NULL"},
		{"queen.kv_expiry_v1('2031-01-01Z', 1500) = '2031-01-01 00:00:01.5Z'", "true"},
		{"queen.kv_expiry_v1('2031-01-01Z', 1) = '2031-01-01 00:00:00.001Z'", "true"},
		{"queen.kv_expiry_v1('2031-01-01Z', null)", "NULL"},
		// A day is 24 hours, whatever the session's zone does with its clocks that night.
		{"queen.kv_expiry_v1('2031-03-30Z', 86400000) = '2031-03-31Z'", "true"},
		{"queen.kv_expiry_v1('2000-01-01Z', 3155760000000) - '2000-01-01Z'::timestamptz = interval '36525 days'", "true"},
	})
}

// RFC 3339 in UTC with six decimals and Z.
func TestTime(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{"queen.kv_time_v1('2031-01-01Z')", "2031-01-01T00:00:00.000000Z"},
		{"queen.kv_time_v1('2031-06-07 08:09:10.000011+05:45')", "2031-06-07T02:24:10.000011Z"},
		{"queen.kv_time_v1('0001-01-01Z')", "0001-01-01T00:00:00.000000Z"},
		{"queen.kv_time_v1('9999-12-31 23:59:59.999999Z')", "9999-12-31T23:59:59.999999Z"},
		{"queen.kv_time_v1(null)", "NULL"},
	})
}
