package model

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
)

// The checks of the fields that are no names, in the contract's order. A field that an op doesn't
// know was refused before, so it is not there.

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
