package sql

import "testing"

// delta, min, max and results: within 10^36 either way, with at most 18 decimals, by value.
func TestNumberOK(t *testing.T) {
	t.Parallel()
	yes := []string{"0", "-0", "1", "1e36", "-1e36", "1000000000000000000000000000000000000.000", "0.000000000000000001",
		"-0.000000000000000001", "999999999999999999999999999999999999.999999999999999999", "1.0000000000000000000000000000",
		"0.1234567890123456780", "'0e-16383'"}
	no := []string{"1e36 + 1", "-1e36 - 1", "1e36 + 0.000000000000000001", "-1e36 - 0.000000000000000001", "1e37", "0.0000000000000000001",
		"1.0000000000000000001", "1e-16383", "1e131071", "-1e131071", "'NaN'", "'infinity'", "'-infinity'", "null"}
	var checks []check
	for _, n := range yes {
		checks = append(checks, check{"queen.kv_number_ok_v1(" + n + ")", "true"})
	}
	for _, n := range no {
		checks = append(checks, check{"queen.kv_number_ok_v1(" + n + ")", "false"})
	}
	checkAll(t, checks)
}

// Numbers are taken by value, nothing else is a number, and the bounds are inclusive; NULL is no
// bound.
func TestIntegerPath(t *testing.T) {
	t.Parallel()
	var checks []check
	expect := func(value, bounds, want string) {
		checks = append(checks, check{`jsonb_build_object('f', '` + value + `'::jsonb) @@ queen.kv_integer_path_v1('f', ` + bounds + ") is true", want})
	}
	for _, n := range []string{"1", "60", "60.0", "6e1", "600e-1", "1.000000000000000000000000000000000", "9223372036854775807"} {
		expect(n, "1, 9223372036854775807", "true")
	}
	for _, n := range []string{"0", "-1", "0.5", "1.0000000000000000001", "9223372036854775808", "1e30", "1e131071", "1e-16383",
		`"1"`, "true", "null", "[1]", "{}"} {
		expect(n, "1, 9223372036854775807", "false")
	}
	for _, n := range []string{"0", "-0.0", "0e10"} {
		expect(n, "0, 0", "true")
	}
	for n, want := range map[string]string{"1e131071": "true", "-1e131071": "true", "1.5": "false", "1e-16383": "false", `"5"`: "false", "[5]": "false"} {
		expect(n, "null, null", want)
	}
	checks = append(checks, check{`'{}' @@ queen.kv_integer_path_v1('f', 0, 5) is true`, "false"}) // an absent field
	checkAll(t, checks)
}

// An increase is held by max, a decrease by min, zero by neither; a step back towards the range
// is allowed; nothing may leave what a counter can hold.
func TestIncrFits(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{"queen.kv_incr_fits_v1(0 + 5, 5, null, null)", "true"},
		{"queen.kv_incr_fits_v1(3 + 2, 2, null, 5)", "true"},
		{"queen.kv_incr_fits_v1(3 + 2.000000000000000001, 2.000000000000000001, null, 5)", "false"},
		{"queen.kv_incr_fits_v1(3 + 3, 3, null, 5)", "false"},
		{"queen.kv_incr_fits_v1(9 + -1, -1, null, 5)", "true"}, // back, and still above
		{"queen.kv_incr_fits_v1(9 + 0, 0, null, 5)", "true"},
		{"queen.kv_incr_fits_v1(9 + 1, 1, null, 5)", "false"},
		{"queen.kv_incr_fits_v1(-3 + -2, -2, -5, null)", "true"},
		{"queen.kv_incr_fits_v1(-3 + -3, -3, -5, null)", "false"},
		{"queen.kv_incr_fits_v1(-9 + 1, 1, -5, null)", "true"},
		{"queen.kv_incr_fits_v1(-9 + 0, 0, -5, null)", "true"},
		{"queen.kv_incr_fits_v1(-9 + -1, -1, -5, null)", "false"},
		{"queen.kv_incr_fits_v1(-9 + 100, 100, -5, 5)", "false"},
		{"queen.kv_incr_fits_v1(9 + -100, -100, -5, 5)", "false"},
		{"queen.kv_incr_fits_v1(0 + 1, 1, 9, 3)", "true"}, // min above max: each holds its own direction
		{"queen.kv_incr_fits_v1(0 + 5, 5, 9, 3)", "false"},
		{"queen.kv_incr_fits_v1(1e36 + 0, 0, null, null)", "true"},
		{"queen.kv_incr_fits_v1(1e36 + 0.000000000000000001, 0.000000000000000001, null, null)", "false"},
		{"queen.kv_incr_fits_v1(-1e36 + -1, -1, null, null)", "false"},
		{"queen.kv_incr_fits_v1(5e35 + 5e35, 5e35, null, null)", "true"},
		{"queen.kv_incr_fits_v1(1e100 + -1, -1, null, null)", "false"}, // stored by a put; the result is out of range
		{"queen.kv_incr_fits_v1(1e100 + -1e36, -1e36, null, null)", "false"},
		{"queen.kv_incr_fits_v1(1e-20 + 1, 1, null, null)", "false"}, // 20 decimals
		{"queen.kv_incr_fits_v1(0.1 + 0.2, 0.2, null, 0.3)", "true"}, // exact
	})
}

// What incr says of its numbers: not a number is kv_bad_request, out of range kv_bad_number.
func TestNumberFault(t *testing.T) {
	t.Parallel()
	code := func(value string) string { return "split_part(queen.kv_number_fault_v1('min', " + value + "), ' ', 1)" }
	checkAll(t, []check{
		{code("'5'"), "NULL"},
		{code("'-1e36'"), "NULL"},
		{code("'1e37'"), "kv_bad_number"},
		{code("'1e131071'"), "kv_bad_number"},
		{code("'1e-16383'"), "kv_bad_number"},
		{code("'\"5\"'"), "kv_bad_request"},
		{code("'null'"), "kv_bad_request"},
		{code("'true'"), "kv_bad_request"},
		{code("'[5]'"), "kv_bad_request"},
		{"queen.kv_number_fault_v1('min', '[5]') like '%min%'", "true"}, // the field's name is in the detail
	})
}

// 100 by default, clamped to 1..1000.
func TestPageLimit(t *testing.T) {
	t.Parallel()
	var checks []check
	for limit, want := range map[string]string{"null": "100", "'1'": "1", "'1000'": "1000", "'1001'": "1000", "'0'": "1", "'-5'": "1",
		"'2.0'": "2", "'1e10'": "1000", "'1e131071'": "1000", "'-1e131071'": "1"} {
		checks = append(checks, check{"queen.kv_page_limit_v1(" + limit + ")", want})
	}
	checkAll(t, checks)
}
