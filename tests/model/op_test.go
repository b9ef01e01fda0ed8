package model_test

import (
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/queenkv/queenkv/tests/model"
)

var opNames = []string{"put", "get", "incr", "delete", "putIfAbsent", "touch", "getMany", "getPrefix"}

// op draws an op that the contract takes, but for a value that may be too large.
func (h *history) op(tenant string) map[string]any {
	name := pick(h.t, "op", slices.Concat(opNames, []string{"put", "touch", "delete", "putIfAbsent", "incr"})...)
	if h.plain {
		name = "put"
	}
	id := model.ID{Namespace: "n", Key: h.key()}
	if rarely(h.t, 3, "other ns") {
		id.Namespace = pick(h.t, "ns", namespaces...)
	}
	o := map[string]any{"op": name, "ns": id.Namespace}
	switch name {
	case "getMany":
		o["keys"] = append([]any{}, some(h, "key", 2, 8, func() any { return h.key() })...)
		return o
	case "getPrefix":
		o["prefix"] = pick(h.t, "prefix", prefixes...)
		h.page(o)
		return o
	}
	o["key"] = id.Key
	if name == "get" {
		return o
	}
	if name != "delete" {
		h.expiry(o)
	}
	switch name {
	case "put", "putIfAbsent":
		o["value"] = h.value()
	case "incr":
		o["delta"] = pick(h.t, "delta", num("1"), num("-1"), num("3.0"), num("0"), num("0.5"), num("-2.50"), num("1e-18"),
			num("1e36"), num("-1e36"), num("0.1000000000000000000000"))
		for _, bound := range []string{"min", "max"} {
			if rarely(h.t, 2, bound) {
				o[bound] = pick(h.t, bound, num("0"), num("5"), num("-1.0"), num("2.5"), num("1e36"), num("-1e36"))
			}
		}
	}
	switch {
	case h.plain:
	case name == "putIfAbsent" && rarely(h.t, 2, "expect"):
		o["expect"] = pick(h.t, "expect", num("0"), num("0.00"))
	case name != "putIfAbsent" && name != "incr" && coin.Draw(h.t, "expect"):
		o["expect"] = h.expect(tenant, id)
	}
	if h.required || rarely(h.t, 3, "not required") {
		o["required"] = h.required && !rarely(h.t, 2, "not required")
	}
	return o
}

func (h *history) key() string {
	if rarely(h.t, 6, "longest key") {
		return strings.Repeat("k", h.store.Limits.KeyBytes)
	}
	if rarely(h.t, 2, "odd key") {
		return pick(h.t, "key", keys...)
	}
	return pick(h.t, "key", "a", "b", "ab")
}

func (h *history) page(o map[string]any) {
	l := h.store.Limits
	if rarely(h.t, 1, "limit") {
		o["limit"] = pick(h.t, "limit", num("1"), num("2.0"), num("0"), num("-7"), num(num64(l.PageMax)), num(num64(l.PageMax+1)),
			num("1e30"))
	}
	if rarely(h.t, 1, "after") {
		o["after"] = pick(h.t, "after", afters...)
	}
	if rarely(h.t, 2, "keysOnly") {
		o["keysOnly"] = coin.Draw(h.t, "keysOnly")
	}
}

// Faults are set by giving a field, of the op or not, a value from these lists.
var (
	odd = []any{
		nil, "", "1", true, false, num("0"), num("-1"), num("1.5"), num("1e37"), num("-1e36"), num("1e-19"),
		num("1000000000000000000000000000000000000.000000000000000001"), num("9223372036854775808"), num("3155760000001"),
		num("60.0"), num("1e400"), []any{}, map[string]any{}, []any{"a", ""}, []any{"a", nil}, []any{num("7")},
	}
	oddNumbers = []any{
		num("1e37"), num("-1e37"), num("1e-19"), num("1000000000000000000000000000000000000.000000000000000001"), num("1e400"),
		"1", nil, true, num("1e36"),
	}
	oddFields = map[string][]any{
		"op": {"set", "GET", nil, num("1"), ""},
		"ns": {"Abc", ".a", "a b", "é", "a\n", nil, num("1"), "", "-a"},
		// No version that could have been issued: the two sides count differently.
		"keys":   {[]any{"a", ""}, []any{"a", nil}, []any{num("7")}, []any{true}, nil, "a", map[string]any{}},
		"delta":  oddNumbers,
		"min":    oddNumbers,
		"max":    oddNumbers,
		"expect": {num("-1"), num("1.5"), nil, "0", true, num("9223372036854775808"), num("9223372036854775807"), num("1e400")},
	}
	strays = []string{"op", "foo", "tenant", "Expect", "tenantId", "tenant_id", "_tenant", "after", "value", "expect", "delta", "ttl", "required"}
)

// spoil makes an op one that is likely to be refused.
func (h *history) spoil(v any) any {
	if rarely(h.t, 4, "no object") {
		return pick[any](h.t, "no object", nil, "get", num("1"), []any{})
	}
	o := maps.Clone(v.(map[string]any))
	for range pick(h.t, "faults", 1, 1, 2) {
		h.spoilField(o)
	}
	return o
}

// known are the fields of each op that a fault is put in; expiry is all three of them.
var known = map[string][]string{
	"get":         {"ns", "key", "op"},
	"getMany":     {"keys", "keys", "ns"},
	"getPrefix":   {"prefix", "prefix", "limit", "after", "keysOnly", "ns"},
	"put":         {"value", "key", "ns", "expect", "required", "ttlMs", "ttlSeconds", "forever", "expiry", "key"},
	"putIfAbsent": {"value", "key", "ns", "expect", "required", "ttlMs", "ttlSeconds", "forever", "expiry", "key"},
	"delete":      {"key", "ns", "expect", "required"},
	"incr":        {"delta", "min", "max", "key", "ns", "required", "ttlMs", "ttlSeconds", "forever", "expiry", "key"},
	"touch":       {"key", "ns", "expect", "required", "ttlMs", "ttlSeconds", "forever", "expiry"},
}

func (h *history) spoilField(o map[string]any) {
	var field string
	if name, ok := o["op"].(string); ok && known[name] != nil && !rarely(h.t, 2, "stray field") {
		field = pick(h.t, "field", known[name]...)
	} else {
		field = pick(h.t, "stray", strays...)
	}
	if field == "expiry" {
		for _, field := range []string{"ttlMs", "ttlSeconds", "forever"} {
			delete(o, field)
		}
		if coin.Draw(h.t, "two") {
			o["ttlMs"], o["forever"] = num("5"), true
		}
		return
	}
	if rarely(h.t, 2, "without") {
		delete(o, field)
		return
	}
	l := h.store.Limits
	switch list := oddFields[field]; {
	case field == "ns" && rarely(h.t, 1, "length"):
		o[field] = strings.Repeat("n", l.NamespaceBytes+rapid.IntRange(0, 1).Draw(h.t, "over"))
	case (field == "key" || field == "prefix") && rarely(h.t, 1, "length"):
		o[field] = strings.Repeat("é", l.KeyBytes/2) + strings.Repeat("k", rapid.IntRange(0, 3).Draw(h.t, "over"))
	case field == "keys" && rarely(h.t, 1, "length"):
		o[field] = []any{"a", strings.Repeat("k", l.KeyBytes+1), ""}
	case list != nil:
		o[field] = pick(h.t, "odd "+field, list...)
	default:
		o[field] = pick(h.t, "odd", odd...)
	}
}
