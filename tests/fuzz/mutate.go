package fuzz

import (
	"strconv"
	"strings"
)

// ops makes the first argument of kv_apply_v1: JSON text, valid or not.
func ops(s source) string {
	n := 1 + s.IntN(3)
	switch {
	case s.one(2):
		n = 1
	case s.one(32):
		return cheapOps(s, pick(s, 64, 65, 65, 256, 257, 257))
	case s.one(60):
		return oddJSON(s)
	case s.one(30):
		return manyKeys(s)
	}
	bad := -1
	if s.one(2) {
		bad = s.IntN(n)
	}
	parts := make([]string, n)
	for i := range parts {
		o := goodOp(s)
		switch {
		case i != bad:
			parts[i] = o.text(s)
		case s.one(12):
			parts[i] = oddJSON(s)
		default:
			for range 1 + s.IntN(2) {
				o = mutate(s, o)
			}
			parts[i] = o.text(s)
		}
	}
	text := pick(s, "", " ", "\n") + "[" + strings.Join(parts, ",") + "]"
	if s.one(40) {
		return damaged(s, text)
	}
	return text
}

// cheapOps are many, around the limit of ops.
func cheapOps(s source, n int) string {
	each := pick(s, `{"op":"get","ns":"n","key":"a"}`, `{"op":"incr","ns":"n","key":"b","delta":1,"forever":true}`,
		`{"op":"delete","ns":"n","key":"absent"}`, "5")
	return "[" + strings.TrimSuffix(strings.Repeat(each+",", n), ",") + "]"
}

// manyKeys are getMany and getPrefix around the limit of keys.
func manyKeys(s source) string {
	n := pick(s, 256, 4096, 4096) - 1 + s.IntN(4)
	many := `{"op":"getMany","ns":"n","keys":[` + strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") + `]}`
	if s.one(2) {
		return "[" + many + "]"
	}
	return "[" + many + `,{"op":"getPrefix","ns":"n","prefix":"k","limit":` + pick(s, "1", "4", "100", "1000") + "}]"
}

// mutate changes an op in one way. Some of the ways leave it good.
func mutate(s source, o op) op {
	at := 0
	if len(o) > 0 {
		at = s.IntN(len(o))
	}
	return choose(s, []choice[op]{
		{30, func(s source) op { return o.with(at, oddJSON(s)) }},
		{40, func(s source) op { return aimed(s, o) }},
		{8, func(source) op { return o.without(at) }},
		{8, func(s source) op { return o.insert(s, member{oddName(s), oddJSON(s)}) }},
		{6, func(s source) op { // twice with one name: the last one counts
			if len(o) == 0 {
				return o
			}
			return o.insert(s, member{o[at].name, oddJSON(s)})
		}},
		{4, func(s source) op {
			return o.set("op", quoted(s, pick(s, "PUT", "getmany", "cas", "", "put ", oddText(s))))
		}},
	})
}

// aimed changes the one field whose fault a chance change would seldom make, so that every code is met often.
func aimed(s source, o op) op {
	switch s.IntN(15) {
	case 0:
		return goodOf(s, "get").set("key", quoted(s, fill(s, 2047+s.IntN(4))))
	case 13:
		return goodOf(s, pick(s, "put", "touch", "incr")).set("forever", pick(s, "false", "true")).set("ttlMs", "5")
	case 14:
		return goodOf(s, "getPrefix").set("prefix", `""`)
	case 12:
		return o.insert(s, member{pick(s, "tenant", "tenantId", "tenant_id", "_tenant"), oddJSON(s)})
	case 1:
		return o.set("ns", quoted(s, pick(s, oddText(s), strings.Repeat("n", 65), "N", "n s", "é")))
	case 2:
		return o.set("ttlMs", oddNumber(s)).without(o.find("forever")).without(o.find("ttlSeconds"))
	case 3:
		return o.set(pick(s, "forever", "ttlMs", "ttlSeconds"), pick(s, "false", "1", "true"))
	case 4:
		return goodOf(s, pick(s, "put", "delete", "touch")).set("expect", pick(s, oddNumber(s), "-1", "1.5", `"1"`, "9223372036854775808"))
	case 5:
		return goodOf(s, "incr").set(pick(s, "delta", "min", "max"), pick(s, oddNumber(s), "1e-19", "1000000000000000000000000000000000001"))
	case 6:
		return goodOf(s, "put").set("value", pick(s, wideJSON, deepJSON, oddJSON)(s))
	case 7:
		return goodOf(s, "putIfAbsent").set("value", quoted(s, fill(s, 65533+s.IntN(8))))
	case 8:
		return goodOf(s, "getPrefix").set("prefix", pick(s, `""`, "null", quoted(s, fill(s, 2047+s.IntN(4)))))
	case 9:
		return goodOf(s, "getMany").set("keys", "["+several(s, 4, oddJSON)+"]")
	case 10:
		return o.set("required", pick(s, "null", "1", `"true"`, "true"))
	default:
		return o.set(pick(s, "limit", "after", "keysOnly"), oddJSON(s))
	}
}

func (o op) find(name string) int {
	for i, m := range o {
		if m.name == name {
			return i
		}
	}
	return -1
}

func (o op) with(at int, value string) op {
	if at < 0 || at >= len(o) {
		return o
	}
	o = append(op{}, o...)
	o[at].value = value
	return o
}

func (o op) set(name, value string) op {
	if at := o.find(name); at >= 0 {
		return o.with(at, value)
	}
	return append(append(op{}, o...), member{name, value})
}

func (o op) without(at int) op {
	if at < 0 || at >= len(o) {
		return o
	}
	return append(append(op{}, o[:at]...), o[at+1:]...)
}

func (o op) insert(s source, m member) op {
	at := s.IntN(len(o) + 1)
	return append(append(append(op{}, o[:at]...), m), o[at:]...)
}

// damaged is text with a byte changed, cut or put in: seldom JSON.
func damaged(s source, text string) string {
	at := s.IntN(len(text))
	switch s.IntN(4) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + pick(s, "\xff", "\xc0\x80", "\xed\xa0\x80", `\u0000`, `\ud800`, `"\udc00"`, "'", ",", "}", "NaN", "01") + text[at:]
	case 2:
		return text[:at] + text[at+1:]
	default:
		return text + strconv.Quote(string(oddRune(s)))
	}
}
