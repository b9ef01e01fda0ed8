package fuzz

import (
	"strings"
)

// oddText is a string: plain, unusual, long, or what another type's value reads like.
func oddText(s source) string {
	return choose(s, []choice[string]{
		{20, func(s source) string { return pick(s, keys...) }},
		{20, func(s source) string { return pick(s, strangeTexts...) }},
		{10, func(s source) string {
			runes := make([]rune, s.IntN(8))
			for i := range runes {
				runes[i] = oddRune(s)
			}
			return string(runes)
		}},
		{3, func(s source) string { return fill(s, s.near(64, 2048)) }},
		{1, func(s source) string { return fill(s, s.near(4096, 10922, 10923)) }},
	})
}

// fill makes a string of n bytes, give or take the last character's.
func fill(s source, n int) string {
	unit := pick(s, "k", "k", "é", "\u20AC", "😀", `"`, `\`, "\u0001", "%")
	return strings.Repeat(unit, n/len(unit)) + strings.Repeat("k", n%len(unit))
}

func oddRune(s source) rune {
	return pick(s, rune(1+s.IntN(0x7F)), rune(0x80+s.IntN(0x700)), rune(0x4E00+s.IntN(0x5000)), rune(0x10000+s.IntN(0x100000)),
		0x7F, 0x85, 0xA0, 0xAD, 0x0130, 0x0131, 0x017F, 0x0301, 0x200B, 0x200D, 0x200E, 0x202E, 0x2028, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1F600,
		0x10FFFE, 0x10FFFF)
}

var strangeTexts = []string{
	"", " ", "null", "true", "0", "-1", "1e5", "NaN", "Infinity", "-infinity", "now", "epoch", "{}", "[]", "{a,b}", "a' or 1=1 --", `"`, `\`, `\\`, `\u0000`, "%", "_",
	"$1", "$$", "$.**", "(a)", "$(", "a/b", "../..", "a\nb", "a\tb", "\r\n", "\u0001", "\u0007\b\f", "N", "n ", " n", "ns.", ".ns", "-ns", "n/s", "put", "PUT", "queen.kv",
	"e\u0301", "\u00e9", "\u212a", "\u01c4", "\u0130", "ß", "\u202egpj.exe", "\u200d", "\ufeff", "\ufffd", "\uffff", "\ufffe", "\U0010ffff", "\U0010ffff\U0010ffff", "\ud7ff",
	"\ue000", "👩\u200d👩\u200d👧", "𝒳", "2031-01-01T00:00:00Z", "00000000-0000-0000-0000-000000000001", "YQ==", "!",
}

// keys are the few keys, and namespaces the few namespaces, that good calls name, so that they meet.
var keys = []string{
	"a", "b", "c", "k", "key/1", "key/2", "Key", "e\u0301", "\u00e9", "😀", "\U0010ffff", "\ud7ff", "%", `q"\`, "a\nb", strings.Repeat("l", 2048), strings.Repeat("😀", 512),
}

var namespaces = []string{"n", "n", "n", "0", "a.b-c_d", strings.Repeat("n", 64)}

// contended is the namespace whose every write is undone by the test's trigger: what stands for sixteen rounds lost to others.
const contended = "contended"

// fields are all that an op may have, and names that are nearly one.
var fields = []string{
	"op", "ns", "key", "keys", "prefix", "after", "limit", "keysOnly", "ttlSeconds", "ttlMs", "forever", "value", "expect", "delta", "min", "max", "required",
}

// oddName is a member's name.
func oddName(s source) string {
	return choose(s, []choice[string]{
		{10, func(s source) string { return pick(s, fields...) }},
		{3, func(s source) string { return pick(s, "tenant", "tenantId", "tenant_id", "_tenant") }},
		{4, func(s source) string {
			return pick(s, "Op", "KEY", "key ", "ttl", "ttlms", "expct", "version", "", "__proto__", "0", "a.b", "op\u200b", "index", "p_now")
		}},
		{4, oddText},
	})
}
