package model

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// fields are what each op knows besides op itself.
var fields = map[string][]string{
	"get":         {"ns", "key"},
	"getMany":     {"ns", "keys"},
	"getPrefix":   {"ns", "prefix", "after", "limit", "keysOnly"},
	"put":         {"ns", "key", "value", "ttlSeconds", "ttlMs", "forever", "expect", "required"},
	"putIfAbsent": {"ns", "key", "value", "ttlSeconds", "ttlMs", "forever", "expect", "required"},
	"delete":      {"ns", "key", "expect", "required"},
	"incr":        {"ns", "key", "delta", "ttlSeconds", "ttlMs", "forever", "min", "max", "required"},
	"touch":       {"ns", "key", "ttlSeconds", "ttlMs", "forever", "expect", "required"},
}

var tenantFields = []string{"tenant", "tenantId", "tenant_id", "_tenant"}

var namespaceForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*\z`)

// check looks for the first fault of a call: of the call itself, of its ops in input order, of
// the number of its keys.
func (l Limits) check(c Call) *Fault {
	ops, ok := c.Ops.([]any)
	if !ok || c.Tenant == "" || !c.Now.ok() {
		return badCall("kv_bad_request")
	}
	mostOps, mostKeys := l.Ops, l.Keys
	if c.InWire {
		mostOps, mostKeys = l.OpsInWire, l.KeysInWire
	}
	if len(ops) > mostOps {
		return badCall("kv_too_many_ops")
	}
	keys := 0
	for i, v := range ops {
		if fault := l.checkOp(v, c.InWire); fault != nil {
			fault.Index = i
			return fault
		}
		switch o := v.(op); o["op"] {
		case "getMany":
			keys += len(o["keys"].([]any))
		case "getPrefix":
			keys += l.page(o)
		}
	}
	if keys > mostKeys {
		return badCall("kv_too_many_keys")
	}
	return nil
}

// checkOp finds the first of an op's faults in the contract's order.
func (l Limits) checkOp(v any, inWire bool) *Fault {
	o, ok := v.(op)
	if !ok {
		return badField("")
	}
	name, ok := o["op"].(string)
	if !ok {
		return badField("op")
	}
	known, ok := fields[name]
	if !ok {
		return bad("kv_unknown_op")
	}
	for _, field := range tenantFields {
		if _, there := o[field]; there {
			return bad("kv_tenant_not_an_input")
		}
	}
	for field := range o {
		if field != "op" && !slices.Contains(known, field) {
			return bad("kv_unknown_field")
		}
	}
	if ns, ok := o["ns"].(string); !ok || len(ns) > l.NamespaceBytes || !namespaceForm.MatchString(ns) {
		return bad("kv_bad_namespace")
	}
	for _, check := range []func(op) *Fault{
		l.checkKeys(inWire), checkPage, l.checkExpiry, l.checkValue, checkExpect, checkNumbers, checkRequired,
	} {
		if fault := check(o); fault != nil {
			return fault
		}
	}
	return nil
}

// op is an op that is an object with a known name.
type op = map[string]any

func (l Limits) checkKeys(inWire bool) func(op) *Fault {
	return func(o op) *Fault {
		switch o["op"] {
		case "getPrefix":
			prefix, there := o["prefix"]
			s, ok := prefix.(string)
			switch {
			case inWire:
				return bad("kv_get_prefix_not_allowed_in_transaction")
			case !there || ok && s == "":
				return bad("kv_prefix_required")
			case !ok:
				return badField("prefix")
			case len(s) > l.KeyBytes:
				return bad("kv_key_too_large")
			}
		case "getMany":
			keys, ok := o["keys"].([]any)
			if !ok {
				return badField("keys")
			}
			for _, key := range keys {
				if fault := l.checkKey(key); fault != nil {
					return fault
				}
			}
		default:
			return l.checkKey(o["key"])
		}
		return nil
	}
}

func (l Limits) checkKey(v any) *Fault {
	switch key, ok := v.(string); {
	case !ok || key == "":
		return bad("kv_bad_key")
	case len(key) > l.KeyBytes:
		return bad("kv_key_too_large")
	}
	return nil
}

func checkPage(o op) *Fault {
	if v, there := o["after"]; there {
		if _, ok := v.(string); !ok {
			return badField("after")
		}
	}
	if v, there := o["limit"]; there {
		if _, ok := integer(v); !ok {
			return badField("limit")
		}
	}
	return boolean(o, "keysOnly")
}

func (l Limits) checkExpiry(o op) *Fault {
	if !slices.Contains(fields[o["op"].(string)], "forever") {
		return nil
	}
	said := 0
	for field, most := range map[string]int64{"ttlSeconds": l.TTLMillis / 1000, "ttlMs": l.TTLMillis} {
		if v, there := o[field]; there {
			said++
			if n, ok := integer(v); !ok || n.Sign() <= 0 || n.Cmp(big.NewInt(most)) > 0 {
				return bad("kv_bad_ttl") // of either field: their order makes no difference
			}
		}
	}
	if fault := boolean(o, "forever"); fault != nil {
		return fault
	}
	if o["forever"] == true {
		said++
	}
	if said != 1 {
		return bad("kv_expiry_not_specified")
	}
	return nil
}

func (l Limits) checkValue(o op) *Fault {
	if !strings.HasPrefix(o["op"].(string), "put") {
		return nil
	}
	v, there := o["value"]
	switch {
	case !there:
		return badField("value")
	case depth(v) > l.ValueDepth:
		return badField("value")
	case len(text(canonical(v))) > l.ValueBytes:
		return bad("kv_value_too_large")
	}
	return nil
}

func checkExpect(o op) *Fault {
	v, there := o["expect"]
	if !there {
		return nil
	}
	n, ok := integer(v)
	if !ok || n.Sign() < 0 || n.Cmp(big.NewInt(math.MaxInt64)) > 0 || o["op"] == "putIfAbsent" && n.Sign() != 0 {
		return bad("kv_bad_expect")
	}
	return nil
}

func checkNumbers(o op) *Fault {
	if o["op"] != "incr" {
		return nil
	}
	for _, field := range []string{"delta", "min", "max"} {
		v, there := o[field]
		if !there && field != "delta" {
			continue
		}
		n, ok := v.(json.Number)
		switch {
		case !ok:
			return badField(field)
		case !parseDecimal(n.String()).countable():
			return bad("kv_bad_number")
		}
	}
	return nil
}

func checkRequired(o op) *Fault { return boolean(o, "required") }

func boolean(o op, field string) *Fault {
	if v, there := o[field]; there {
		if _, ok := v.(bool); !ok {
			return badField(field)
		}
	}
	return nil
}

// integer is the value of a number that is an integer.
func integer(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case Version:
		return big.NewInt(int64(v)), true
	case json.Number:
		return parseDecimal(v.String()).integer()
	}
	return nil, false
}
