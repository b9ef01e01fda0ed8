package kvpg

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

const bad = "a\xffb" // not valid UTF-8

type text string

func (t text) MarshalText() ([]byte, error) { return []byte("<" + t + ">"), nil }

// opaqueName has the usual MarshalJSON, which hides its string from whoever reads only exported fields.
type opaqueName struct{ name string }

func (o opaqueName) MarshalJSON() ([]byte, error) { return json.Marshal(o.name) }

type inner struct {
	Name string `json:"name"`
}

type outer struct {
	inner
	Items   []inner        `json:"items"`
	Any     any            `json:"any,omitempty"`
	Ptr     *inner         `json:"ptr,omitempty"`
	Map     map[string]any `json:"map,omitempty"`
	Skipped string         `json:"-"`
	hidden  string
	Raw     json.RawMessage `json:"raw,omitempty"`
}

func TestEncodeValueRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		value any
		path  string
	}{
		{"invalid UTF-8 in a string", bad, "$"},
		{"in a field of an element", outer{Items: []inner{{}, {}, {}, {Name: bad}}}, "$.items[3].name"},
		{"in an embedded field", outer{inner: inner{Name: bad}}, "$.name"},
		{"behind a pointer", outer{Ptr: &inner{Name: bad}}, "$.ptr.name"},
		{"in an interface", outer{Any: []any{1, bad}}, "$.any[1]"},
		{"in a map's value", map[string]any{"odd name": bad}, `$["odd name"]`},
		{"in a map's key", map[string]int{bad: 1}, `$["a\xffb"]`},
		{"in a MarshalText", map[string]any{"t": text(bad)}, "$.t"},
		{"behind a MarshalJSON", map[string]any{"o": opaqueName{bad}}, "$.o.name"},
		{"beside a raw replacement escape", outer{Raw: json.RawMessage(`"\ufffd"`), Any: bad}, "$.any"},
		{"in raw JSON", json.RawMessage("[\"\xff\"]"), "$[0]"},
		{"in a raw name", json.RawMessage("{\"x\": {\"\xff\": 1}}"), `$.x["\ufffd"]`},

		{"U+0000 in a Go string", map[string]any{"items": []any{0, 1, 2, map[string]any{"name": "a\x00"}}}, "$.items[3].name"},
		{"U+0000 in a name", json.RawMessage(`{"a": {"\u0000": 1}}`), `$.a["\x00"]`},
		{"U+0000 after an escaped backslash", json.RawMessage(`["\\\u0000"]`), "$[0]"},

		{"a lone high surrogate", json.RawMessage(`{"a": "\ud800"}`), "$.a"},
		{"a lone high surrogate, upper case", json.RawMessage(`{"a": "\uD800x"}`), "$.a"},
		{"a lone low surrogate", json.RawMessage(`[[], [1, "\udc00"]]`), "$[1][1]"},
		{"two high surrogates", json.RawMessage(`"\ud800\ud800"`), "$"},
		{"a pair in the wrong order", json.RawMessage(`"\udc00\ud800"`), "$"},
		{"a pair with something between", json.RawMessage(`"\ud800 \udc00"`), "$"},
		{"a high surrogate before an escape that is none", json.RawMessage(`"\ud800\\udc00"`), "$"},

		{"a number above numeric", json.RawMessage(`{"n": [1e131072]}`), "$.n[0]"},
		{"a number with too many decimals", json.RawMessage(`1e-16384`), "$"},
		{"a number whose exponent overflows int", json.RawMessage(`1e99999999999999999999`), "$"},
		{"a zero with an exponent that PostgreSQL does not read", json.RawMessage(`[0e1073741823]`), "$[0]"},
		{"131,073 digits", json.RawMessage(strings.Repeat("9", 131073)), "$"},

		{"nested 1,001 deep", json.RawMessage(strings.Repeat("[", 1001) + strings.Repeat("]", 1001)), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw, fault := encodeValue(c.value)
			if fault == nil {
				t.Fatalf("encoded as %.100s, want a refusal", raw)
			}
			if fault.Code != ErrBadRequest || fault.SQLState != "22023" || fault.Problem == "" || fault.Index != 0 {
				t.Errorf("got %+v, want kv_bad_request, 22023 with a problem", fault)
			}
			if c.path != "" && fault.Path != c.path {
				t.Errorf("path %s, want %s", fault.Path, c.path)
			}
		})
	}
}

func TestEncodeValueKeeps(t *testing.T) {
	t.Parallel()
	cyclic := &outer{Skipped: bad, hidden: bad, Raw: json.RawMessage(`"\ufffd"`)}
	cases := []struct {
		name  string
		value any
		want  string // "" for the encoding of encoding/json
	}{
		{"nil is JSON null", nil, "null"},
		{"a nil RawMessage is JSON null", json.RawMessage(nil), "null"},
		{"a literal backslash-u0000", json.RawMessage(`"\\u0000"`), `"\\u0000"`},
		{"the same as a Go string", `\u0000`, `"\\u0000"`},
		{"a literal backslash-ud800", json.RawMessage(`"\\ud800"`), `"\\ud800"`},
		{"a real U+FFFD", "\ufffd", `"` + "\ufffd" + `"`},
		{"a raw replacement escape", json.RawMessage(`"\ufffd"`), `"\ufffd"`},
		{"a raw escape in a struct with damaged fields that are not sent", cyclic, ""},
		{"text that looks like the escape", `\ufffd`, `"\\ufffd"`},
		{"a surrogate pair", json.RawMessage(`"\ud83d\ude00"`), `"\ud83d\ude00"`},
		{"a surrogate pair, upper case", json.RawMessage(`"\uD83D\uDE00"`), `"\uD83D\uDE00"`},
		{"HTML", "<&>", `"<&>"`},
		{"2^53+1", int64(1)<<53 + 1, "9007199254740993"},
		{"the greatest int64", int64(math.MaxInt64), "9223372036854775807"},
		{"the greatest numeric", json.RawMessage(`1e131071`), `1e131071`},
		{"131,072 digits", json.RawMessage(strings.Repeat("9", 131072)), ""},
		{"a numeric with the most decimals", json.RawMessage(`1e-16383`), `1e-16383`},
		{"a zero with a great exponent", json.RawMessage(`[0e200000, 0.0E+1073741822, -0]`), `[0e200000,0.0E+1073741822,-0]`},
		{"a small mantissa that its exponent brings in range", json.RawMessage(`0.0001e131075`), `0.0001e131075`},
		{"bytes", []byte{0xff}, `"/w=="`},
		{"nested 1,000 deep", json.RawMessage(strings.Repeat("[", 1000) + strings.Repeat("]", 1000)), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw, fault := encodeValue(c.value)
			if fault != nil {
				t.Fatalf("refused: %v", fault)
			}
			want := c.want
			if want == "" {
				b, err := json.Marshal(c.value)
				if err != nil {
					t.Fatal(err)
				}
				want = string(b)
			}
			if string(raw) != want {
				t.Errorf("encoded as %.100s, want %.100s", raw, want)
			}
		})
	}
}

func TestEncodeValueThatJSONCannotWrite(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"NaN": math.NaN(), "a channel": make(chan int), "raw text that is no JSON": json.RawMessage(`{"a":`),
		"an infinity in a struct": struct{ F float64 }{math.Inf(-1)}, "an empty raw text": json.RawMessage{},
		"raw text with something behind": json.RawMessage(`{} {}`), "raw text with a NUL behind": json.RawMessage("1\x00"),
		"two raw texts that make one": []json.RawMessage{json.RawMessage(`1,2`)},
		"a number that is none":       json.Number("1e"), "a marshaler that fails": fails{}, "a text marshaler that fails": map[fails]int{{}: 1},
	} {
		_, fault := encodeValue(value)
		if fault == nil {
			t.Errorf("%s was encoded", name)
			continue
		}
		if !errors.Is(fault, ErrBadRequest) || fault.Unwrap() == nil {
			t.Errorf("%s: got %v, want kv_bad_request over encoding/json's error", name, fault)
		}
	}
}

type fails struct{}

func (fails) MarshalJSON() ([]byte, error) { return nil, errors.New("not today") }
func (fails) MarshalText() ([]byte, error) { return nil, errors.New("not today") }

func TestFindInvalidStringSurvivesCycles(t *testing.T) {
	t.Parallel()
	// encoding/json skips the field that makes the cycle; the search comes by because a legitimate escape is there.
	type node struct {
		Raw  json.RawMessage
		Self any `json:"-"`
		self *opaqueCycle
	}
	c := &opaqueCycle{}
	c.next = c
	n := node{Raw: json.RawMessage(`"\ufffd"`), self: c}
	n.Self = &n
	s := &opaqueSlice{kids: make([]any, 1)}
	s.kids[0] = s.kids
	for _, value := range []any{n, []any{c, n.Raw}, s} {
		if _, fault := encodeValue(value); fault != nil {
			t.Errorf("refused: %v", fault)
		}
	}
}

type opaqueCycle struct{ next *opaqueCycle }

func (*opaqueCycle) MarshalJSON() ([]byte, error) { return []byte(`"cycle"`), nil }

type opaqueSlice struct{ kids []any }

func (*opaqueSlice) MarshalJSON() ([]byte, error) { return []byte(`"\ufffd"`), nil }

func TestLongPathIsClipped(t *testing.T) {
	t.Parallel()
	_, fault := encodeValue(map[string]any{strings.Repeat("k", 3000): "\x00"})
	if fault == nil || len(fault.Path) > 110 {
		t.Fatalf("got %v, want a refusal with a short path", fault)
	}
}
