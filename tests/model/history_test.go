package model_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/queenkv/queenkv/tests/model"
)

// A history is some calls of two tenants that nobody had before, on the model and on a server.
type history struct {
	t       *rapid.T // of the piece that is drawn
	whole   *rapid.T // rapid prints what this one logs
	store   *model.Store
	server  *server
	tokens  *tokens
	tenants []string
	now     model.Instant

	// unswept is a store that no sweep touches: its answers are those of store, until the clock goes back behind a sweep.
	unswept *model.Store
	swept   model.Instant

	plain    bool            // the call that is drawn is of puts without expect, which have a path of their own
	required bool            // its ops are
	versions []model.Version // given by now
	script   script
	tally    *tally
}

var epoch = model.Instant(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())

// A tally is what was played.
type tally struct {
	calls, ops int
	events     map[model.Event]int
	failure    string // the last one
}

// play draws a history, and fails t where the server's answers or rows are not the model's.
func play(ctx context.Context, t *rapid.T, s *server, sum *tally) {
	h := &history{
		t: t, whole: t, store: model.New(s.limits), unswept: model.New(s.limits), swept: model.First, server: s, tokens: newTokens(), now: epoch,
		tenants: []string{tenant(), tenant()}, script: script{limits: s.limits}, tally: sum,
	}
	some(h, "call", 4, 40, func() struct{} { h.step(ctx); return struct{}{} })
	rows, err := s.state(ctx, h.tenants)
	if err != nil {
		h.fail("the table can't be read: %v", err)
	}
	if diff := h.tokens.differentState(h.store, h.tenants, rows); diff != "" {
		h.fail("the table at the end: %s", diff)
	}
}

// fail says what is wrong, with the script. What it is called must not vary: rapid shrinks a
// failure only to one of the same name.
func (h *history) fail(format string, args ...any) {
	h.whole.Helper()
	h.tally.failure = fmt.Sprintf(format+"\n\n%s", append(args, h.script)...)
	h.whole.Log(h.tally.failure)
	h.whole.Fatal("the server and the model differ")
}

// step draws a call and makes it on both sides.
func (h *history) step(ctx context.Context) {
	if rarely(h.t, 4, "sweep") {
		h.sweep(ctx)
	}
	c := h.call()
	results, fault, events := h.store.Apply(c)
	h.sameUnswept(c, results, fault)
	ops := ""
	if c.Ops != nil {
		ops = render(c.Ops, func(v model.Version) string { return h.tokens.server[v] })
	}
	h.script.calls = append(h.script.calls, played{Call: c, results: results})
	got, err := h.server.apply(ctx, ops, c)
	if err != nil {
		h.fail("the session ends with the last call: %v", err)
	}
	if diff := h.tokens.difference(h.server.limits, results, fault, got); diff != "" {
		h.fail("the last call gave %v\n%s", got, diff)
	}
	for _, v := range written(results) {
		h.versions = append(h.versions, v)
	}
	h.tally.calls++
	if list, ok := c.Ops.([]any); ok {
		h.tally.ops += len(list)
	}
	for _, e := range events {
		h.tally.events[e]++
	}
}

// sweep removes what is not alive now on both sides.
func (h *history) sweep(ctx context.Context) {
	h.store.Sweep(h.now)
	h.swept = max(h.swept, h.now)
	h.script.calls = append(h.script.calls, played{Call: model.Call{Now: h.now}, sweep: true})
	if err := h.server.sweep(ctx, h.now); err != nil {
		h.fail("the sweep fails: %v", err)
	}
}

// sameUnswept makes a call on the store that was never swept too, and wants the same answer: a sweep changes none.
func (h *history) sameUnswept(c model.Call, results []any, fault *model.Fault) {
	if h.unswept == nil {
		return
	}
	if c.Now < h.swept {
		h.unswept = nil // rows that were swept would be alive again
		return
	}
	if r, f, _ := h.unswept.Apply(c); !reflect.DeepEqual(r, results) || !reflect.DeepEqual(f, fault) {
		h.fail("a sweep has changed the model's last answer\n%v %v\n%v %v", results, fault, r, f)
	}
}

func tenant() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// call draws the next call.
func (h *history) call() model.Call {
	c := model.Call{Tenant: h.tenants[0]}
	if rarely(h.t, 3, "tenant") {
		c.Tenant = h.tenants[1]
	}
	h.now = min(max(h.instant(c.Tenant), model.First), model.End-1)
	c.Now = h.now
	c.InWire = rarely(h.t, 2, "wire")
	h.plain = rarely(h.t, 3, "puts")
	h.required = rarely(h.t, 2, "required")
	if rarely(h.t, 7, "no call") {
		return h.noCall(c)
	}
	l := h.store.Limits
	most := l.Ops
	if c.InWire {
		most = l.OpsInWire
	}
	ops := some(h, "op", 2, min(most, 10), func() any { return h.op(c.Tenant) })
	switch {
	case rarely(h.t, 7, "many ops"):
		most += rapid.IntRange(0, 1).Draw(h.t, "ops above the limit")
		for len(ops) < most {
			ops = append(ops, map[string]any{"op": "get", "ns": "n", "key": "a"})
		}
	case rarely(h.t, 7, "many keys"):
		h.manyKeys(&ops, c.InWire)
	}
	if rarely(h.t, 2, "spoilt") && len(ops) > 0 {
		for range pick(h.t, "spoilt ops", 1, 1, 2) {
			i := rapid.IntRange(0, len(ops)-1).Draw(h.t, "spoilt op")
			if _, ok := ops[i].(map[string]any); ok {
				ops[i] = h.spoil(ops[i])
			}
		}
	}
	c.Ops = append([]any{}, ops...) // not nil: that is NULL
	return c
}

// manyKeys makes ops that name as many keys as a call may, or one more.
func (h *history) manyKeys(ops *[]any, inWire bool) {
	l := h.store.Limits
	keys := l.Keys
	if inWire {
		keys = l.KeysInWire
	}
	keys += rapid.IntRange(0, 1).Draw(h.t, "keys above the limit")
	*ops = []any{}
	if !inWire {
		for range pick(h.t, "pages", 0, 2, 4) {
			*ops = append(*ops, map[string]any{"op": "getPrefix", "ns": "n", "prefix": "a", "limit": num(num64(l.PageMax))})
			keys -= l.PageMax
		}
	}
	list := make([]any, keys)
	for i := range list {
		list[i] = fmt.Sprintf("a%d", i/2)
	}
	*ops = append(*ops, map[string]any{"op": "getMany", "ns": "n", "keys": list})
}

// noCall spoils a call's arguments.
func (h *history) noCall(c model.Call) model.Call {
	c.Ops = []any{map[string]any{"op": "put", "ns": "n", "key": "a", "value": num("1"), "forever": true}}
	switch rapid.IntRange(0, 4).Draw(h.t, "fault of the call") {
	case 0:
		c.Ops = nil
	case 1:
		c.Ops = c.Ops.([]any)[0]
	case 2:
		c.Ops = "[]"
	case 3:
		c.Tenant = ""
	default:
		c.Now = pick(h.t, "no instant", model.Infinity, model.End, model.First-1)
	}
	return c
}

// ids are the keys that a tenant has, in order.
func (h *history) ids(tenant string) []model.ID {
	return slices.SortedFunc(maps.Keys(h.store.Rows(tenant)), func(x, y model.ID) int {
		return strings.Compare(x.Namespace+"\x00"+x.Key, y.Namespace+"\x00"+y.Key)
	})
}

// written are the versions that a call's writes gave, by the place of the op.
func written(results []any) map[int]model.Version {
	given := map[int]model.Version{}
	for i, v := range results {
		r := v.(map[string]any)
		switch r["op"] {
		case "put", "putIfAbsent", "incr":
			if r["applied"] == true {
				given[i] = r["version"].(model.Version)
			}
		}
	}
	return given
}
