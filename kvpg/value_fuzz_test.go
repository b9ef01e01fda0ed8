package kvpg

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// jsonSeeds are where go test -fuzz starts, and all that a plain go test tries.
var jsonSeeds = []string{
	`null`, `{"a":[1,-2.50e3,{"b":"c"}],"d":true}`, `"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\\ude00"`,
	`"\uD800\uDC00\uDFFF"`, `"\ud800\ue000"`, `"\ud800\udbff"`, "\"\\ud83d\U0001f600\"", `"\ufffd"`, "\"\ufffd\"", "\"\xff\"", "{\"\xff\":1}", `{"a b":{"":["\u0000"]}}`, `{"a":{"\u0000":1}}`,
	`1e131071`, `1e131072`, `10e131071`, `0.1e131072`, `0.001e131074`, `1e-16383`, `1e-16384`, `0e-16384`, `0e999999`, `0e1073741822`, `0e1073741823`,
	`1e99999999999999999999`, `-0`, `[1e5,1E+5,1e-5]`, `"1e999999"`, ` [ 1 , 2 ] `, `{"\"":"\"e5"}`, `"\/\b\f\n\r\t"`,
	strings.Repeat("[", 1000) + strings.Repeat("]", 1000), strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	strings.Repeat(`{"a":`, 1000) + `[]` + strings.Repeat("}", 1000),
}

// FuzzRawValue: JSON text is refused exactly when jsonb can't hold it, sent as encoding/json compacts it, and a refusal names a
// place.
func FuzzRawValue(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			t.Skip("no JSON")
		}
		got, fault := encodeValue(json.RawMessage(raw))
		if want := holdable(raw); want != (fault == nil) {
			t.Fatalf("%.300q: held %v, want %v (%v)", raw, fault == nil, want, fault)
		}
		if fault != nil {
			if fault.Code != ErrBadRequest || !strings.HasPrefix(fault.Path, "$") || fault.Problem == "" || !utf8.ValidString(fault.Error()) {
				t.Fatalf("%.300q: refused with %+v", raw, fault)
			}
			return
		}
		want, err := json.Marshal(json.RawMessage(raw)) // compacted, and < > & escaped or not as marshal decides
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(got, want) {
			t.Fatalf("%.300q: sent as %.300q", raw, got)
		}
	})
}

// FuzzStringValue: a Go string is sent whole, or refused at its place when it is not valid UTF-8 or holds U+0000, however deep.
func FuzzStringValue(f *testing.F) {
	for _, seed := range []string{"", "a", "a\x00", "\xff", "a\xffb", "\xed\xa0\x80", "\ufffd", `\ufffd`, `\u0000`, "😀", "\"\\", "<&>", "\u2028", "\xc0\x80", "\U0010ffff"} {
		f.Add(seed, seed)
		f.Add("name", seed)
		f.Add(seed, "text")
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		value := map[string]any{"list": []any{1, map[string]any{name: text, "raw": json.RawMessage(`"\ufffd"`)}}}
		good := func(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
		got, fault := encodeValue(value)
		if want := name == "raw" || good(name) && good(text); want != (fault == nil) {
			t.Fatalf("%q: %q: held %v, want %v (%v)", name, text, fault == nil, want, fault)
		}
		if fault != nil {
			if !strings.HasPrefix(fault.Path, "$.list[1]") {
				t.Fatalf("%q: %q: refused at %s", name, text, fault.Path)
			}
			return
		}
		var back struct{ List []json.RawMessage }
		var members map[string]string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(back.List[1], &members); err != nil || name != "raw" && members[name] != text {
			t.Fatalf("%q: %q: came out as %q (%v)", name, text, members[name], err)
		}
	})
}

// FuzzArrayLiteral: keys come out of the text of a text[] as they went in.
func FuzzArrayLiteral(f *testing.F) {
	for _, seed := range []string{"", "a", "a,b", `"`, `\`, `{}`, `a"b\c`, "NULL", " a ", "a\nb", "{1,2}", `\\"`, "é😀"} {
		f.Add(seed, "b")
		f.Add("a", seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, keys := range [][]string{{}, {a}, {a, b}, {b, a, a}} {
			items, ok := parseArray(arrayLiteral(keys))
			if !ok || strings.Join(items, "\x00\x00") != strings.Join(keys, "\x00\x00") || len(items) != len(keys) {
				t.Fatalf("%q is written %q, which reads %q", keys, arrayLiteral(keys), items)
			}
		}
	})
}

// sameJSON compares two texts but for how their characters are escaped.
func sameJSON(a, b []byte) bool {
	read := func(raw []byte) []any {
		var tokens []any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		for {
			token, err := d.Token()
			if err != nil {
				return tokens
			}
			tokens = append(tokens, token)
		}
	}
	x, y := read(a), read(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}
