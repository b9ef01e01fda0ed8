package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// JSON is here what encoding/json makes of it with UseNumber: nil, bool, json.Number, string,
// []any and map[string]any; and a [Version] stands for the number that it is.

// canonical is what jsonb keeps of a value: numbers lose their exponents.
func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(parseDecimal(v.String()).String())
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = canonical(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for name := range v {
			m[name] = canonical(v[name])
		}
		return m
	}
	return v
}

// text is the text of a canonical value as a cast from jsonb to text gives it.
func text(v any) string {
	var b strings.Builder
	writeText(&b, v)
	return b.String()
}

func writeText(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool, json.Number:
		fmt.Fprint(b, v)
	case string:
		writeString(b, v)
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeText(b, v[i])
		}
		b.WriteByte(']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, func(x, y string) int { // jsonb's order
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			return strings.Compare(x, y)
		})
		b.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				b.WriteString(", ")
			}
			writeString(b, name)
			b.WriteString(": ")
			writeText(b, v[name])
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("model: %T is no JSON", v))
	}
}

func writeString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if c < ' ' {
				fmt.Fprintf(b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
}

// depth is how many arrays and objects are around the innermost value.
func depth(v any) int {
	inner := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			inner = max(inner, depth(e))
		}
	case map[string]any:
		for _, e := range v {
			inner = max(inner, depth(e))
		}
	default:
		return 0
	}
	return inner + 1
}
