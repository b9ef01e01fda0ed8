package handles

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

func jsonNull(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	var nilPointer *point
	for what, value := range map[string]any{
		"nil": nil, "a nil pointer": nilPointer, "a nil map": map[string]int(nil), "json.RawMessage": json.RawMessage("null"),
	} {
		put := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "null", value, kvpg.Forever(), nil))
		_, ok, err := kvpg.Get(ctx, db, ns, "null")
		if string(put.Value) != "null" || !ok || err != nil {
			t.Errorf("%s: put %q, get %v, %v, want a null that is there", what, put.Value, ok, err)
		}
	}
	for path, got := range shown(t, db, ns, "null") {
		if string(got.Value) != "null" {
			t.Errorf("%s has %q, want null", path, got.Value)
		}
	}
	slots := must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, db, ns, []string{"null", "none"}))
	if !slots[0].Found || slots[1].Found || slots[1].Value != nil {
		t.Errorf("getMany of a stored null and of nothing: got %+v", slots)
	}
	absent := must[kvpg.Verdict](t)(kvpg.Touch(ctx, db, ns, "none", kvpg.Forever(), nil))
	if absent.Reason != kvpg.ReasonAbsent || absent.Value != nil {
		t.Errorf("touch of nothing: got %+v, want no value", absent)
	}
	deleted := must[kvpg.Verdict](t)(kvpg.Delete(ctx, db, ns, "null", nil))
	if !deleted.Applied || string(deleted.Value) != "null" {
		t.Errorf("delete of a stored null: got %+v", deleted)
	}
}

// point has a MarshalJSON on its pointer, celsius one on its value.
type point struct{ x, y int }

func (p *point) MarshalJSON() ([]byte, error) { return json.Marshal([]int{p.x, p.y}) }

type celsius float64

func (c celsius) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]float64{"celsius": float64(c)})
}

// hostile writes what encoding/json takes and jsonb doesn't; failing fails.
type hostile struct{}

func (hostile) MarshalJSON() ([]byte, error) { return []byte(`{"a": ["\ud800"]}`), nil }

type failing struct{}

var errMarshal = errors.New("it can't be written")

func (failing) MarshalJSON() ([]byte, error) { return nil, errMarshal }

// label is a TextMarshaler.
type label string

func (l label) MarshalText() ([]byte, error) { return []byte("label:" + string(l)), nil }

var kathmandu = time.FixedZone("", (5*60+45)*60)

// written are values and the text that jsonb gives back.
var written = []struct {
	value any
	want  string
}{
	{"<&>\u2028", `"<&>` + "\u2028" + `"`},
	{`\u0000`, `"\\u0000"`},
	{json.RawMessage(`"\\ud800"`), `"\\ud800"`},
	{json.RawMessage(`"\ufffd"`), `"` + "\ufffd" + `"`},
	{json.RawMessage(`"\ud83d\ude00"`), `"` + "😀" + `"`},
	{"\x01\x1f", `"\u0001\u001f"`},
	{`quote " back \ /`, `"quote \" back \\ /"`},
	{json.RawMessage(` { "b":{}, "a" : [ ] } `), `{"a": [], "b": {}}`},
	{json.RawMessage(`{"a": 1, "a": 2}`), `{"a": 2}`},
	{json.RawMessage(deep), deep},
	{[]byte{0, 255}, `"AP8="`},
	{time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, kathmandu), `"2030-01-02T03:04:05.678+05:45"`},
	{time.Minute, "60000000000"},
	{&point{1, 2}, "[1, 2]"},
	{[]*point{{3, 4}, nil}, "[[3, 4], null]"},
	{map[string]any{"t": celsius(21.5)}, `{"t": {"celsius": 21.5}}`},
	{label("x"), `"label:x"`},
	{map[netip.Addr]int{netip.MustParseAddr("::1"): 1}, `{"::1": 1}`},
	{netip.MustParseAddr("2001:db8::1"), `"2001:db8::1"`},
	{struct {
		At    *time.Time  `json:"at"`
		N     json.Number `json:"n"`
		Empty string      `json:"empty,omitempty"`
		Not   string      `json:"-"`
	}{N: "9007199254740993", Not: "\xff"}, `{"n": 9007199254740993, "at": null}`},
}

var deep = strings.Repeat("[", 1000) + strings.Repeat("]", 1000)

func values(t *testing.T, h *handle) {
	ctx, db, ns := t.Context(), h.DB, freshSpace()
	ops := make([]kvpg.Op, len(written))
	for i, w := range written {
		ops[i] = kvpg.PutOp(ns, "k", w.value, kvpg.Forever(), nil)
	}
	for i, r := range must[[]kvpg.Result](t)(kvpg.Apply(ctx, db, ops...)) {
		if string(r.Verdict.Value) != written[i].want {
			t.Errorf("put of %v in a call of many: got %s, want %s", written[i].value, r.Verdict.Value, written[i].want)
		}
	}
	for _, w := range written {
		v := must[kvpg.Verdict](t)(kvpg.Put(ctx, db, ns, "k", w.value, kvpg.Forever(), nil))
		entry, _, err := kvpg.Get(ctx, db, ns, "k")
		if string(v.Value) != w.want || err != nil || string(entry.Value) != w.want {
			t.Errorf("put of %v: the verdict has %s, get %s, %v, want %s", w.value, v.Value, entry.Value, err, w.want)
		}
	}
}

// refused are values that jsonb can't hold as they are meant, and the place that the error has to name.
var refused = []struct {
	name  string
	value any
	path  string
}{
	{"a NUL", "a\x00", "$"},
	{"a NUL in a document", map[string]any{"items": []any{"ok", map[string]any{"name": "\x00"}}}, "$.items[1].name"},
	{"an escaped NUL", json.RawMessage(`{"a b": ["\u0000"]}`), `$["a b"][0]`},
	{"a NUL in a name", map[string]int{"a\x00": 1}, `$["a\x00"]`},
	{"invalid UTF-8", []string{"ok", "\xff"}, "$[1]"},
	{"invalid UTF-8 of a TextMarshaler", map[string]any{"l": label("\xff")}, "$.l"},
	{"invalid UTF-8 behind a pointer", &struct{ Name *string }{Name: new("\xc3")}, "$.Name"},
	{"a lone surrogate", json.RawMessage(`{"a": {"b": "\ud800"}}`), "$.a.b"},
	{"a lone surrogate of a Marshaler", []any{hostile{}}, "$[0].a[0]"},
	{"a number that no numeric holds", json.RawMessage(`[1e200000]`), "$[0]"},
	{"an error of a Marshaler", failing{}, ""},
	{"a channel", make(chan int), ""},
	{"no number", json.Number("1x"), ""},
}

func refusedValues(t *testing.T, h *handle) {
	ns := freshSpace()
	inTx(t, h, func(tx kvpg.Tx) { refuseValues(t, tx, ns) })
	wantKeys(t, h, ns, "after", "before")
}

func refuseValues(t *testing.T, tx kvpg.Tx, ns kvpg.Namespace) {
	ctx := t.Context()
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "before", 1, kvpg.Forever(), nil))
	for _, c := range refused {
		calls := map[string]func() error{
			"put": func() error { _, err := kvpg.Put(ctx, tx, ns, "k", c.value, kvpg.Forever(), nil); return err },
			"putIfAbsent": func() error {
				_, err := kvpg.PutIfAbsent(ctx, tx, ns, "k", c.value, kvpg.Forever(), nil)
				return err
			},
			"apply": func() error {
				_, err := kvpg.Apply(ctx, tx, kvpg.PutOp(ns, "k", c.value, kvpg.Forever(), nil))
				return err
			},
		}
		for op, call := range calls {
			var e *kvpg.Error
			if err := call(); !errors.As(err, &e) || e.Code != kvpg.ErrBadRequest || e.SQLState != "22023" || e.Path != c.path || e.Index != 0 {
				t.Errorf("%s of %s: got %v, want kv_bad_request at %q", op, c.name, err, c.path)
			}
		}
	}
	if _, err := kvpg.Put(ctx, tx, ns, "k", failing{}, kvpg.Forever(), nil); !errors.Is(err, errMarshal) {
		t.Errorf("got %v, which does not unwrap to the Marshaler's error", err)
	}
	must[kvpg.Verdict](t)(kvpg.Put(ctx, tx, ns, "after", 1, kvpg.Forever(), nil))
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// wantKeys compares the keys of a namespace that a new statement sees.
func wantKeys(t *testing.T, h *handle, ns kvpg.Namespace, want ...string) {
	t.Helper()
	var got string
	err := h.QueryRow(t.Context(), `select coalesce(string_agg(key, ' ' order by key), '') from queen.kv where tenant_id = $1::uuid`,
		tenantText(ns)).Scan(&got)
	if err != nil || got != strings.Join(want, " ") {
		t.Errorf("the keys are %q, %v, want %q", got, err, want)
	}
}
