package fuzz

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// oddJSON makes JSON text of any kind that a field could hold. Most of it is small: the large ones take the server's time.
func oddJSON(s source) string { return choose(s, odd) }

var odd []choice[string]

func init() { // the makers of arrays and objects use the list themselves
	odd = []choice[string]{
		{20, func(s source) string { return pick(s, "null", "true", "false", "[]", "{}", `""`, "0", "1", "-1") }},
		{30, oddNumber},
		{30, func(s source) string { return quoted(s, oddText(s)) }},
		{6, func(s source) string { return "[" + several(s, 4, oddJSON) + "]" }},
		{6, func(s source) string {
			return "{" + several(s, 4, func(s source) string { return quoted(s, oddName(s)) + ":" + oddJSON(s) }) + "}"
		}},
		{2, func(s source) string { return goodOp(s).text(s) }},
		{1, deepJSON},
		{1, wideJSON},
	}
}

func several(s source, most int, item func(source) string) string {
	items := make([]string, s.IntN(most+1))
	for i := range items {
		items[i] = item(s)
	}
	return strings.Join(items, pick(s, ",", ", ", " ,\n\t"))
}

// oddNumber is JSON, within PostgreSQL's numeric or beyond it.
func oddNumber(s source) string {
	return choose(s, []choice[string]{
		{20, func(s source) string { return strconv.FormatInt(s.Int64()>>s.IntN(64)*pick[int64](s, 1, -1), 10) }},
		{20, func(s source) string { return pick(s, boundNumbers...) }},
		{5, func(s source) string { return fmt.Sprintf("%d.%s0", s.IntN(100), strings.Repeat("0", s.IntN(20))) }},
		{5, func(s source) string {
			return fmt.Sprintf("%s%d.%de%s%d", pick(s, "", "-"), s.IntN(10), s.IntN(1000), pick(s, "", "+", "-"), s.IntN(40))
		}},
		{4, func(s source) string { return fmt.Sprintf("%de%d", 1+s.IntN(9), s.near(36, 1000)) }},
		{1, func(s source) string {
			return fmt.Sprintf("%s%de%d", pick(s, "", "-"), s.IntN(10), pick(s, 131070, 131071, 131072, 1<<30-2, 1<<30))
		}},
		{1, func(s source) string { return fmt.Sprintf("%de-%d", s.IntN(10), pick(s, 16382, 16383, 16384, 1<<30-2)) }},
		{1, func(s source) string { return "0." + strings.Repeat("7", s.near(17, 19, 16383)) }},
		{1, func(s source) string { return strings.Repeat("9", 1+s.near(36, 400, 4000)) }},
	})
}

// boundNumbers are at and next to what types and the contract hold.
var boundNumbers = []string{
	"0", "-0", "-0.0", "0e5", "60.0", "1e0", "1E+2", "1e-1", "0.5", "1.5", "-1.5", "32767", "32768", "2147483647", "2147483648", "-2147483649",
	"9007199254740993", "9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"9223372036854775807.0", "9223372036854775807.5", "18446744073709551615", "3155760000", "3155760001", "3155760000000", "3155760000001", "1e36",
	"-1e36", "1000000000000000000000000000000000001", "1e36000", "1e-18", "1e-19", "0.000000000000000001", "0.0000000000000000010",
	"0.0000000000000000001", "1.000000000000000000", "1e37", "1e400", "-1e400", "1e-400", "1000", "1001", "4096", "4097", "-1000", "0e1073741822", "0e1073741823",
	"0e-16384",
}

// deepJSON nests around the contract's bound, and up to what PostgreSQL's own parser still reads.
func deepJSON(s source) string {
	depth := s.near(20, 990, 1000, 1010, 2000)
	if s.one(8) {
		depth = s.near(7000)
	}
	open, end := "[", "]"
	if s.one(2) {
		open, end = `{"a":`, "}"
	}
	return strings.Repeat(open, depth) + pick(s, "1", "[]", `""`) + strings.Repeat(end, depth)
}

// wideJSON has many elements, around the sizes at which a check changes its way.
func wideJSON(s source) string {
	item := pick(s, "0", "7", "1e30", "1e300", `""`, `"a"`, "[]", "{}", "null", `{"a":0}`, "-0.5", "1e131071", "1e-16383", `"\u0001"`)
	n := s.near(10, 20, 170, 300)
	if s.one(6) {
		n = s.near(5461, 16384, 21845)
	}
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// quoted writes a string as JSON, with each character raw or escaped as chance has it. Bytes that are no UTF-8 stay.
func quoted(s source, text string) string {
	var b strings.Builder
	b.WriteByte('"')
	escapeAll := s.one(20)
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			b.WriteByte(text[i])
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || escapeAll && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case escapeAll:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
