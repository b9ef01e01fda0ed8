package model_test

import (
	"encoding/json"
	"strings"

	"pgregory.net/rapid"

	"github.com/queenkv/queenkv/tests/model"
)

// pick draws one of a few; a shrunk case has the first.
func pick[T any](t *rapid.T, label string, of ...T) T { return rapid.SampledFrom(of).Draw(t, label) }

var coin = rapid.Bool()

// rarely is true once in 2^bits; a shrunk case has false.
func rarely(t *rapid.T, bits int, label string) bool {
	for range bits {
		if !coin.Draw(t, label) {
			return false
		}
	}
	return true
}

// some draws a list of up to most, 2^bits long on average. Each piece is a draw of its own with
// the decision to go on, so that shrinking can take it out.
func some[T any](h *history, label string, bits, most int, one func() T) []T {
	t := h.t
	defer func() { h.t = t }()
	var list []T
	for len(list) < most {
		more := rapid.Custom(func(t *rapid.T) bool {
			h.t = t
			for range bits {
				if coin.Draw(t, "another") {
					list = append(list, one())
					return true
				}
			}
			return false
		}).Draw(t, label)
		if !more {
			break
		}
	}
	return list
}

func num(s string) any { return json.Number(s) }

// Few names, so that ops meet. They hold what orders, prefixes and patterns trip over: a case,
// LIKE's signs, quotes, both sides of the surrogates, the last code point alone and twice.
var (
	namespaces = []string{"n.x", "n-x", "a"}
	keys       = []string{"B", "a%", "a_c", "é", "\ud7ff", "\ue000z", "\U0010ffff", "\U0010ffff\U0010ffff", `q"\'` + "\n"}
	prefixes   = []string{"a", "b", "\U0010ffff", "a%", "a_", "é", "\ud7ff", "ab", `q"\`, "zz"}
	afters     = []string{"a", "", "ab", "a%", "\ud7ff", "\U0010ffff", strings.Repeat("z", 3000), "A"}
)

// Values of every type; the numbers are what incr meets.
var values = []any{
	num("1"), num("5"), "seven", nil, num("0"), num("-3"), num("1.50"), num("6e1"), num("-0.0"), num("2.5e-3"), num("1e36"),
	num("-1e36"), num("1e40"), num("1e-20"), "7", "", true, false, []any{}, map[string]any{},
	map[string]any{"b": num("1.0e1"), "a": []any{num("1"), nil, "é\"\\\n\u0001\u007f"}}, []any{num("1e5"), "x"},
}

// value draws a value, sometimes one about as large as the limits allow.
func (h *history) value() any {
	l := h.store.Limits
	small := l != model.Contract
	switch {
	case rarely(h.t, 2, "sized") && (small || rarely(h.t, 5, "sized")):
		// As jsonb text: the quotes count.
		return strings.Repeat("x", rapid.IntRange(0, l.ValueBytes).Draw(h.t, "length"))
	case rarely(h.t, 5, "at the ceiling") && (small || rarely(h.t, 3, "at the ceiling")):
		return pick[any](h.t, "ceiling", strings.Repeat("x", l.ValueBytes-2), strings.Repeat("x", l.ValueBytes-1),
			num("1e"+num64(l.ValueBytes-1)), num("1e"+num64(l.ValueBytes)))
	case !small && rarely(h.t, 6, "deep"):
		return pick(h.t, "depth", nested(l.ValueDepth), nested(l.ValueDepth+1))
	case rarely(h.t, 2, "for the DETAIL's limit"):
		// So that the DETAIL of a lost required op is about as long as it may be.
		detail := len(`{"ns": "n", "op": "put", "key": "a", "index": 0, "value": "", "reason": "exists", "version": 12345}`)
		return strings.Repeat("x", max(0, l.DetailBytes-detail+rapid.IntRange(-14, 4).Draw(h.t, "length")))
	case small && rarely(h.t, 2, "for the budget"):
		// One or two of these spend it, to the byte.
		return strings.Repeat("x", pick(h.t, "share", l.ReadBytes, l.ReadBytes/2)-2)
	}
	return pick(h.t, "value", values...)
}

func nested(depth int) any {
	v := any([]any{})
	for range depth - 1 {
		v = []any{v}
	}
	return v
}

// expect draws a precondition for a key: the version it has or had, none, another one's, one that
// never was.
func (h *history) expect(tenant string, id model.ID) any {
	row, there := h.store.Rows(tenant)[id]
	switch n := rapid.IntRange(0, 7).Draw(h.t, "expect"); {
	case n >= 5 && there:
		return row.Version
	case (n == 3 || n == 4) && len(h.versions) > 0:
		return pick(h.t, "version", h.versions...)
	case n == 2:
		return num("9000000000000000001")
	}
	return pick(h.t, "zero", num("0"), num("0"), num("0.0"), num("0e7"))
}

// expiry adds the fields that say when the row ends: soon, so that the clock gets there.
func (h *history) expiry(o map[string]any) {
	switch rapid.IntRange(0, 7).Draw(h.t, "expiry") {
	case 0, 1, 2:
		o["forever"] = true
	case 3, 4:
		o["ttlSeconds"] = pick(h.t, "ttlSeconds", num("1"), num("2"), num("60.0"), num("6e1"), num("3155760000"))
	case 5:
		o["ttlMs"] = num("1")
		o["forever"] = false
	default:
		o["ttlMs"] = pick(h.t, "ttlMs", num("1"), num("2"), num("1000"), num("1500.00"), num("1e3"), num("3155760000000"))
	}
}

// instant moves the clock: not at all, a little, to where a row ends or just beside that, rarely
// back or to the last instant there is.
func (h *history) instant(tenant string) model.Instant {
	const ms, second = 1000, 1000 * 1000
	switch n := rapid.IntRange(0, 15).Draw(h.t, "clock"); {
	case n == 0 || n == 1:
	case n < 9:
		var ends []model.Instant
		for _, id := range h.ids(tenant) {
			if end := h.store.Rows(tenant)[id].Expires; end != nil && *end > h.now && *end < h.now+100*second {
				ends = append(ends, *end)
			}
		}
		if len(ends) > 0 {
			return pick(h.t, "end", ends...) + pick[model.Instant](h.t, "beside", 0, -1, 1, 0)
		}
		return h.now + 1
	case n < 12:
		return h.now + pick[model.Instant](h.t, "step", 1, ms, second, 3600*second)
	case n == 12 && rarely(h.t, 2, "back"):
		return h.now - pick[model.Instant](h.t, "back by", 1, ms, second)
	case n == 13 && rarely(h.t, 5, "edge"):
		return pick(h.t, "edge of time", model.First, model.End-1)
	}
	return h.now
}
