package sql

import "testing"

// A row exists when it never expires or expires strictly later than now.
func TestLive(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{"queen.kv_live_v1(null, '2031-01-01Z')", "true"},
		{"queen.kv_live_v1('2031-01-01 00:00:00.000001Z', '2031-01-01Z')", "true"},
		{"queen.kv_live_v1('2031-01-01Z', '2031-01-01Z')", "false"},
		{"queen.kv_live_v1('2030-12-31 23:59:59.999999Z', '2031-01-01Z')", "false"},
		{"queen.kv_live_v1('2031-01-01 05:45:00+05:45', '2031-01-01Z')", "false"}, // the same instant
		{"queen.kv_live_v1(null, null)", "true"},
	})
}

// The version that a precondition sees: 0 for an absent or expired row, never NULL.
func TestVer(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{"queen.kv_ver_v1(5, null, '2031-01-01Z')", "5"},
		{"queen.kv_ver_v1(5, '2031-01-01 00:00:00.000001Z', '2031-01-01Z')", "5"},
		{"queen.kv_ver_v1(5, '2031-01-01Z', '2031-01-01Z')", "0"},
		{"queen.kv_ver_v1(5, '2030-01-01Z', '2031-01-01Z')", "0"},
		{"queen.kv_ver_v1(null, null, '2031-01-01Z')", "0"}, // an absent row is all NULL
		{"queen.kv_ver_v1(null, '2031-01-02Z', '2031-01-01Z')", "0"},
		{"queen.kv_ver_v1(9223372036854775807, null, '2031-01-01Z')", "9223372036854775807"},
		{"queen.kv_ver_v1(null, null, null)", "0"},
	})
}

// The number that an increment starts from: 0 for absent, expired or not a number.
func TestNum(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{"queen.kv_num_v1('7', null, '2031-01-01Z')", "7"},
		{"queen.kv_num_v1('-1.50', '2031-01-02Z', '2031-01-01Z')", "-1.50"},
		{"queen.kv_num_v1('7', '2031-01-01Z', '2031-01-01Z')", "0"},
		{"queen.kv_num_v1('7', '2030-01-01Z', '2031-01-01Z')", "0"},
		{"queen.kv_num_v1('\"7\"', null, '2031-01-01Z')", "0"},
		{"queen.kv_num_v1('null', null, '2031-01-01Z')", "0"},
		{"queen.kv_num_v1('true', null, '2031-01-01Z')", "0"},
		{"queen.kv_num_v1('[7]', null, '2031-01-01Z')", "0"}, // the cast of JSONB would refuse it
		{"queen.kv_num_v1('{\"a\": 7}', null, '2031-01-01Z')", "0"},
		{"queen.kv_num_v1('[7]', '2030-01-01Z', '2031-01-01Z')", "0"},
		{"queen.kv_num_v1(null, null, '2031-01-01Z')", "0"},
		{"queen.kv_num_v1(null, null, null)", "0"},
		{"queen.kv_num_v1('1e100', null, '2031-01-01Z') = 1e100", "true"},
	})
}

// expect against the version seen: 0 must not exist; N > 0 must be it, and never creates.
func TestLostReason(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{
		{"queen.kv_lost_reason_v1(null, 0)", "NULL"},
		{"queen.kv_lost_reason_v1(null, 5)", "NULL"},
		{"queen.kv_lost_reason_v1(0, 0)", "NULL"},
		{"queen.kv_lost_reason_v1(5, 5)", "NULL"},
		{"queen.kv_lost_reason_v1(0, 5)", "exists"},
		{"queen.kv_lost_reason_v1(5, 0)", "absent"},
		{"queen.kv_lost_reason_v1(5, 6)", "version"},
	})
}

// A page's keys end before kv_prefix_end_v1, and nothing that starts with the prefix is above it.
func TestPrefixEnd(t *testing.T) {
	t.Parallel()
	last, aboveAll := "chr(1114111)", "repeat(chr(1114111), 513)" // U+10FFFF; 2,052 bytes, more than a key holds
	end := func(prefix, want string) check {
		return check{"queen.kv_prefix_end_v1(" + prefix + ") = " + want + ` collate "C"`, "true"}
	}
	checkAll(t, []check{
		end("'a'", "'b'"),
		end("'order:'", "'order;'"),
		end("'az'", "'a{'"),
		end("'%_\\'", "'%_]'"),
		end("chr(127)", "chr(128)"),                   // one byte, two bytes
		end("chr(2047)", "chr(2048)"),                 // two, three
		end("chr(65535)", "chr(65536)"),               // three, four
		end("'a' || chr(55295)", "'a' || chr(57344)"), // U+D7FF: over the surrogates to U+E000
		end("chr(55294)", "chr(55295)"),
		end("chr(57344)", "chr(57345)"),
		end("'a' || chr(1114110)", "'a' || "+last),
		end("'a' || "+last, "'b'"), // no character after it: the one before is raised
		end("'a' || "+last+" || "+last, "'b'"),
		end("chr(55295) || "+last, "chr(57344)"),
		end("'a' || "+last+" || 'c'", "'a' || "+last+" || 'd'"),
		end(last, aboveAll),
		end("repeat("+last+", 512)", aboveAll), // a prefix of 2,048 bytes
		{aboveAll + " > repeat(" + last + `, 512) collate "C"`, "true"},
	})
}

// Every prefix that ends at a code point is below its end, and so is all that starts with it.
func TestPrefixEndOfEveryCodePoint(t *testing.T) {
	t.Parallel()
	checkAll(t, []check{{`select count(*) from generate_series(1, 1114111) as c
		where c not between 55296 and 57343
		  and not (('p' || chr(c) || chr(1114111)) collate "C" < queen.kv_prefix_end_v1('p' || chr(c)) collate "C"
		           and (c = 1114111 or queen.kv_prefix_end_v1('p' || chr(c)) collate "C"
		                = 'p' || chr(case c when 55295 then 57344 else c + 1 end) collate "C"))`, "0"}})
}
