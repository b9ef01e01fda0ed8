package idempotency

import (
	"errors"
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 5000)
	for _, c := range []struct {
		line   string
		strict string // what is read without BareKeys; "" is a refusal
		bare   string
	}{
		{`"8e03978e-40d5-43e8-bc93-6894a57f9324"`, "8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"},
		{`8e03978e-40d5-43e8-bc93-6894a57f9324`, "", "8e03978e-40d5-43e8-bc93-6894a57f9324"},
		{`  "k"  `, "k", "k"},
		{`" k "`, " k ", " k "},
		{`"a\"b\\c"`, `a"b\c`, `a"b\c`},
		{`"` + long + `"`, long, long},
		{long, "", long},
		{`"~ !"`, "~ !", "~ !"},
		{`urn:uuid:8e03/978e+=`, "", "urn:uuid:8e03/978e+="},
		{``, "", ""},
		{`""`, "", ""},
		{`"`, "", ""},
		{`"k`, "", ""},
		{`k"`, "", ""},
		{`"k\"`, "", ""},
		{`"k\n"`, "", ""},
		{`"k";a=1`, "", ""},
		{`k;a=1`, "", ""},
		{`"a", "b"`, "", ""},
		{`a, b`, "", ""},
		{`"a" "b"`, "", ""},
		{"\"a\tb\"", "", ""},
		{"\"a\x00b\"", "", ""},
		{"\"a\x7fb\"", "", ""},
		{`"ä"`, "", ""},
		{`ä`, "", ""},
		{`'k'`, "", `'k'`}, // single quotes are token characters
	} {
		for bare, want := range map[bool]string{false: c.strict, true: c.bare} {
			got, err := parseKey([]string{c.line}, bare)
			if got != want || (err != nil) != (want == "") || errors.Is(err, errNoKey) {
				t.Errorf("%q, bare %v: got %q, %v, want %q", c.line, bare, got, err, want)
			}
		}
	}
}

func TestParseKeyWantsOneLine(t *testing.T) {
	t.Parallel()
	if _, err := parseKey(nil, true); !errors.Is(err, errNoKey) {
		t.Errorf("no line: %v", err)
	}
	if got, err := parseKey([]string{`"k"`, `"k"`}, true); err == nil || errors.Is(err, errNoKey) {
		t.Errorf("two lines: got %q, %v", got, err)
	}
}

// FuzzParseKey: what is read can be written again and reads the same, and BareKeys changes nothing about what is quoted.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{`"k"`, `k`, `"a\"b\\"`, `"a";b=1`, `"a", "b"`, ``, `"`} {
		f.Add(seed)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, line string) {
		strict, err := parseKey([]string{line}, false)
		bare, bareErr := parseKey([]string{line}, true)
		if err == nil && (bareErr != nil || bare != strict) {
			t.Errorf("%q is %q, and with BareKeys %q, %v", line, strict, bare, bareErr)
		}
		if bareErr != nil {
			return
		}
		again, err := parseKey([]string{`"` + quote.Replace(bare) + `"`}, false)
		if err != nil || again != bare || bare == "" {
			t.Errorf("%q is read as %q, which written again is %q, %v", line, bare, again, err)
		}
	})
}
