package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// text writes a value: members sorted by name, numbers as they were read, everything but
// printable ASCII escaped. Equal values have equal texts, and the cases' digests are of this
// very form.
func text(v any) string {
	var b strings.Builder
	write(&b, v)
	return b.String()
}

func write(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case json.Number:
		b.WriteString(v.String())
	case string:
		writeString(b, v)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			write(b, x)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, name := range names(v) {
			if i > 0 {
				b.WriteString(", ")
			}
			writeString(b, name)
			b.WriteString(": ")
			write(b, v[name])
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("conformance: %T is no JSON", v))
	}
}

var shortEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// quoted keeps the texts of long strings: those of a case are often one and the same.
var quoted sync.Map

func writeString(b *strings.Builder, s string) {
	if len(s) < 1000 {
		b.WriteString(quote(s))
		return
	}
	q, ok := quoted.Load(s)
	if !ok {
		q, _ = quoted.LoadOrStore(s, quote(s))
	}
	b.WriteString(q.(string))
}

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for s != "" {
		plain := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
		if plain < 0 {
			plain = len(s)
		}
		b.WriteString(s[:plain])
		s = s[plain:]
		if s == "" {
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch esc, ok := shortEscapes[r]; {
		case ok:
			b.WriteString(esc)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func names(m map[string]any) []string {
	list := make([]string, 0, len(m))
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
