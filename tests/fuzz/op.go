package fuzz

import (
	"fmt"
	"strconv"
	"strings"
)

// An op is JSON members in the order they are written; a name may be there twice.
type op []member

type member struct{ name, value string } // the value is JSON text

func (o op) text(s source) string {
	colon, comma := pick(s, ":", ":", ": "), pick(s, ",", ", ", "\n,")
	parts := make([]string, len(o))
	for i, m := range o {
		parts[i] = quoted(s, m.name) + colon + m.value
	}
	return "{" + strings.Join(parts, comma) + "}"
}

// goodOp is an op that a call may hold, whatever its verdict will be.
func goodOp(s source) op {
	return goodOf(s, pick(s, "get", "put", "put", "putIfAbsent", "delete", "incr", "incr", "touch", "getMany", "getPrefix"))
}

func goodOf(s source, name string) op {
	key := func() member { return member{"key", quoted(s, pick(s, keys...))} }
	o := op{{"op", strconv.Quote(name)}, {"ns", quoted(s, namespace(s))}}
	switch name {
	case "get":
		return append(o, key())
	case "getMany":
		items := make([]string, s.IntN(6))
		if s.one(100) {
			items = make([]string, s.near(256, 600))
		}
		for i := range items {
			items[i] = quoted(s, pick(s, keys...))
		}
		return append(o, member{"keys", "[" + strings.Join(items, ",") + "]"})
	case "getPrefix":
		o = append(o, member{"prefix", quoted(s, pick(s, "a", "k", "key/", "l", "\U0010ffff", "\ud7ff", "%", "😀", "\U0010ffff\U0010ffff"))})
		return s.some(o, member{"after", quoted(s, oddText(s))}, member{"limit", pick(s, "0", "1", "2", "-5", "7.0", "1000", "1e9")},
			member{"keysOnly", pick(s, "true", "false")})
	case "put":
		o = s.some(append(o, key(), member{"value", goodValue(s)}, expiry(s)), expect(s), required(s))
	case "putIfAbsent":
		o = s.some(append(o, key(), member{"value", goodValue(s)}, expiry(s)), member{"expect", "0"}, required(s))
	case "delete":
		o = s.some(append(o, key()), expect(s), required(s))
	case "incr":
		o = s.some(append(o, key(), member{"delta", goodNumber(s)}, expiry(s)), member{"min", goodNumber(s)}, member{"max", goodNumber(s)}, required(s))
	case "touch":
		o = s.some(append(o, key(), expiry(s)), expect(s), required(s))
	}
	s.Shuffle(len(o), func(i, j int) { o[i], o[j] = o[j], o[i] })
	return o
}

// some appends each of the members once in three times.
func (s source) some(o op, members ...member) op {
	for _, m := range members {
		if s.one(3) {
			o = append(o, m)
		}
	}
	return o
}

func namespace(s source) string {
	if s.one(80) {
		return contended
	}
	return pick(s, namespaces...)
}

func expiry(s source) member {
	return pick(s,
		member{"ttlMs", strconv.Itoa(1 + s.IntN(5000))},
		member{"ttlMs", pick(s, "1", "5.0", "1e3", "3155760000000")},
		member{"ttlSeconds", pick(s, "1", "60.0", "3600", "3155760000", "3.15576e9")},
		member{"forever", "true"})
}

func expect(s source) member {
	return member{"expect", pick(s, "0", "0", "1", strconv.Itoa(s.IntN(20000)), "9223372036854775807")}
}

func required(s source) member { return member{"required", pick(s, "true", "false", "false")} }

func goodNumber(s source) string {
	return pick(s, strconv.Itoa(s.IntN(200)-100), "1", "0", "-0.0", "1e36", "-1e36", "1e-18", "0.000000000000000001", "2.50", "9223372036854775807",
		fmt.Sprintf("%d.%018d", s.IntN(1000), s.Int64N(1e18)))
}

func goodValue(s source) string {
	switch {
	case s.one(2):
		return goodNumber(s)
	case s.one(200):
		return quoted(s, fill(s, s.near(10922, 20000, 65534)))
	case s.one(20):
		return marker(s)
	}
	return pick(s, "null", "true", "{}", "[]", `{"a":{"b":[1,2,{"c":null}]}}`, quoted(s, oddText(s)), "1e400", "-1.50", `{"a":1,"a":2}`)
}

// marker is a value that reads like one of Once's markers, or nearly.
func marker(s source) string {
	return fmt.Sprintf(`{"once":%s,"result":%s,"isError":%s,"fingerprint":%s,"ttlMs":%s,"xid":%s}`,
		pick(s, `"done"`, `"done"`, `"pending"`, "1"), pick(s, `"YQ=="`, "null", `""`, `"!"`, "1", "[]", `"YQ"`, `"a b"`),
		pick(s, "true", "false", "null", `"x"`, "1"), pick(s, "null", "null", `"x"`, "1"), pick(s, "1", "null", `"x"`), pick(s, `"1"`, "1", "null"))
}
