package fuzz

import (
	"strconv"
	"strings"
)

// patternCall is a call of the limiter, a lease or dedupe.
func patternCall(s source, tenant string) call {
	ns := oneOf(s, append([]string{contended}, namespaces...), oddText)
	key := oneOf(s, keys[:6], oddText)
	tail := []arg{tenantArg(s, tenant), nowArg(s)}
	with := func(function string, args ...arg) call { return call{function: function, args: append(args, tail...)} }
	switch s.IntN(7) {
	case 0, 1:
		n := s.IntN(5)
		return call{function: "kv_limiter_v1", rows: true, args: append(
			[]arg{ns, keyList(s, n), costList(s, n), number(s), number(s)}, tail...)}
	case 2:
		return with("kv_dedupe_v1", ns, keyList(s, s.IntN(5)), number(s))
	case 3:
		return with("kv_lease_acquire_v1", ns, key, orNull(s, "text", oddText), number(s))
	case 4:
		return with("kv_lease_renew_v1", ns, key, number(s), number(s))
	case 5:
		return with("kv_lease_release_v1", ns, key, number(s))
	default:
		return with("kv_lease_guard_v1", ns, key, number(s))
	}
}

// number is mostly one that the function takes.
func number(s source) arg {
	if s.one(8) {
		return pick(s, null("bigint"), text("bigint", pick(s, boundNumbers...)))
	}
	return text("bigint", strconv.Itoa(1+s.IntN(20000)))
}

// keyList is an array of n keys, in one of the forms that an array can have.
func keyList(s source, n int) arg {
	items := make([]string, n)
	for i := range items {
		items[i] = arrayItem(pick(s, keys[:6]...))
	}
	switch n := s.IntN(60); {
	case n < 3:
		return null("text[]")
	case n < 6:
		items = append(items, pick(s, "NULL", `""`, arrayItem(oddText(s))))
	case n < 7:
		return text("text[]", "{"+strings.Repeat("k,", s.near(4095))+"k}")
	case n < 10:
		return text("text[]", pick(s, "{{a,b},{c,a}}", "[5:6]={a,b}", "[0:1][3:3]={{a},{b}}"))
	}
	return text("text[]", "{"+strings.Join(items, ",")+"}")
}

// costList is mostly as long as n keys.
func costList(s source, n int) arg {
	items := make([]string, n)
	for i := range items {
		items[i] = strconv.Itoa(s.IntN(9))
	}
	switch n := s.IntN(20); {
	case n < 7:
		return null("bigint[]")
	case n < 8:
		return text("bigint[]", pick(s, "{{1,2},{3,4}}", "[5:6]={1,0}", "{{NULL,1}}", "{9223372036854775807}", "{-1}"))
	case n < 9:
		items = append(items, "NULL")
	}
	return text("bigint[]", "{"+strings.Join(items, ",")+"}")
}
