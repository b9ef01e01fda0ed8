package sql

import (
	"math"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A value is too large when its JSONB text is, and for no other reason: shapes of every kind,
// repeated up to just below and just above each number at which the check changes its way.
func TestValueSizeIsThatOfItsText(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	shapes := map[string]string{
		"zeros": "0", "digits": "7", "negative": "-7", "four digits": "1234", "five digits": "12345", "decimals": "0.5", "a small decimal": "1e-10",
		"thirty digits": strings.Repeat("7", 30), "forty-one digits": "1e40", "forty-two digits": "1e41", "minus forty-two digits": "-1e41",
		"a thousand digits": "1e1000", "a thousand decimals": "1e-1000", "zero with 16,383 decimals": "0e-16383", "all decimals": "1e-16383",
		"all digits": "1e131071", "empty strings": `""`, "letters": `"a"`, "quotes": `"\""`, "control characters": `"\u0001"`, "emoji": `"\ud83d\ude00"`,
		"true": "true", "null": "null", "empty arrays": "[]", "empty objects": "{}", "arrays": "[0]", "arrays in arrays": "[[0]]", "objects": `{"a": 0}`,
		"objects of big numbers": `{"a": 1e1000}`, "strings of 1,000": `"` + strings.Repeat("a", 1000) + `"`, "pairs": `[1e41, "a"]`,
	}
	// Binary sizes at which the way changes: 256, 2048, and 4 * 65536 + 64; and the ceiling of the text itself.
	const fault = "split_part(queen.kv_op_fault_v1(jsonb_build_object('op', 'put', 'ns', 'n', 'key', 'k', 'forever', true, 'value', v.v), false), ' ', 1)"
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			var perElement, textBytes float64
			scan(t, conn, `select (pg_column_size(jsonb_build_array(e, e, e, e, e, e, e, e, e)) - pg_column_size(jsonb_build_array(e))) / 8.0,
				(octet_length(jsonb_build_array(e, e)::text) - octet_length(jsonb_build_array(e)::text))::float8
				from (select $1::jsonb as e) as s`, []any{shape}, &perElement, &textBytes)
			counts := map[int]bool{}
			for _, threshold := range []float64{256 / perElement, 2048 / perElement, 8000 / perElement, (4*65536 + 64) / perElement, 65536 / textBytes} {
				for n := int(math.Floor(threshold)) - 1; n <= int(math.Ceil(threshold))+1; n++ {
					counts[max(n, 0)] = true
				}
			}
			for n := range counts {
				if float64(n)*textBytes > 1e6 {
					continue // its text would take a while; TestExpandingNumbers has those
				}
				var got *string
				var bytes int
				scan(t, conn, `select nullif(`+fault+`, ''), octet_length(v.v::text)
					from (select coalesce(jsonb_agg($1::jsonb), '[]') as v from generate_series(1, $2)) as v`, []any{shape, n}, &got, &bytes)
				want := ""
				if bytes > 65536 {
					want = "kv_value_too_large"
				}
				if g := orEmpty(got); g != want {
					t.Errorf("%d of %s, %d bytes of text: %q, want %q", n, shape, bytes, g, want)
				}
			}
		})
	}
}

// The same of one string, whose characters are one to six bytes of JSON text.
func TestStringSizeIsThatOfItsText(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for character, bytes := range map[string]int{"a": 1, "\"": 2, "\\": 2, "\n": 2, "\u0001": 6, "é": 2, "\uFFFF": 3, "😀": 4} {
		// The text holds two quotes besides; at a sixth of the ceiling the check changes its way.
		for _, n := range []int{65534/bytes - 1, 65534 / bytes, 65534/bytes + 1, 65536/6 - 8, 65536 / 6, 65536/6 + 1, 65536/6/len(character) + 1} {
			var got *string
			scan(t, conn, "select split_part(queen.kv_op_fault_v1(jsonb_build_object('op', 'put', 'ns', 'n', 'key', 'k', 'forever', true, 'value', $1::text), false), ' ', 1)",
				[]any{strings.Repeat(character, n)}, &got)
			want := ""
			if n*bytes+2 > 65536 {
				want = "kv_value_too_large"
			}
			if g := orEmpty(got); g != want {
				t.Errorf("%d times %q, %d bytes of text: %q, want %q", n, character, n*bytes+2, g, want)
			}
		}
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Nested at most 1,000 deep, in arrays, objects and both, alone and beside much else.
func TestDepth(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	nest := func(open, inner, end string, depth int) string {
		return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
	}
	wide := "[" + strings.Repeat("0, ", 15000)
	for name, value := range map[string]func(depth int) string{
		"arrays":           func(n int) string { return nest("[", "", "]", n) },
		"arrays, a number": func(n int) string { return nest("[", "7", "]", n) },
		"objects":          func(n int) string { return nest(`{"a": `, "7", "}", n) },
		"an empty object":  func(n int) string { return nest("[", "{}", "]", n-1) },
		"both":             func(n int) string { return nest(`[{"a": `, "7", "}]", n/2) + strings.Repeat(" ", n%2) },
		"wide":             func(n int) string { return wide + nest("[", "", "]", n-1) + "]" },
		"last of members":  func(n int) string { return `{"a": 1, "b": ` + nest("[", "", "]", n-1) + "}" },
	} {
		for depth, want := range map[int]string{998: "", 1000: "", 1002: "kv_bad_request", 1004: "kv_bad_request"} {
			if name != "both" && depth == 1002 {
				depth = 1001 // "both" nests in twos
			}
			err := call(t.Context(), conn, `[{"op": "put", "ns": "n", "key": "k", "forever": true, "value": `+value(depth)+"}]")
			got := ""
			if err != nil {
				r, form := refusedWith(err)
				if form != "" {
					t.Fatal(form)
				}
				got = r.code
			}
			if got != want {
				t.Errorf("%s, %d deep: %q, want %q", name, depth, got, want)
			}
		}
	}
}
