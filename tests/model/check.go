package model

import (
	"regexp"
	"slices"
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
