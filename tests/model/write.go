package model

import (
	"encoding/json"
	"math/big"
)

type jsonNumber = json.Number

func isNumber(v any) bool {
	_, ok := v.(json.Number)
	return ok
}

// write runs a write op. A lost one is a verdict, or with required a fault.
func (r *run) write(i int, o op) (map[string]any, *Fault) {
	id := idOf(o)
	state := r.state(id)
	row, there := r.rows[id]
	if there && !row.Live(r.now) {
		there = false
		if o["op"] == "delete" {
			delete(r.rows, id) // whatever the verdict
		}
	}
	reason := r.lost(o, row, there)
	if reason == "" {
		r.event(o, "applied", state)
		return r.apply(o, id, row, there), nil
	}
	if !there {
		row = Row{}
	}
	if o["required"] == true {
		r.event(o, reason+", required", state)
		return nil, r.precondition(i, o, reason, row)
	}
	r.event(o, reason, state)
	result := verdict(id, false, row)
	result["reason"] = reason
	return result, nil
}

func verdict(id ID, applied bool, row Row) map[string]any {
	return map[string]any{
		"applied": applied, "key": id.Key, "value": row.Value, "version": row.Version, "expiresAt": row.expiresAt(),
	}
}

// lost is the reason why an op does not apply; empty when it does. The row counts when live.
func (r *run) lost(o op, row Row, live bool) string {
	switch o["op"] {
	case "incr":
		return r.uncountable(o, row, live)
	case "putIfAbsent":
		if live {
			return "exists"
		}
		return ""
	}
	v, expecting := o["expect"]
	if !expecting {
		if o["op"] != "put" && !live {
			return "absent"
		}
		return ""
	}
	switch expect, _ := integer(v); {
	case expect.Sign() == 0 && live:
		return "exists"
	case expect.Sign() == 0 && o["op"] == "touch":
		return "absent" // nothing that could be touched
	case expect.Sign() == 0:
		return ""
	case !live:
		return "absent"
	case expect.Cmp(big.NewInt(int64(row.Version))) != 0:
		return "version"
	}
	return ""
}

// apply does what an op that does not lose does.
func (r *run) apply(o op, id ID, row Row, live bool) map[string]any {
	switch o["op"] {
	case "delete":
		if !live {
			return verdict(id, true, Row{})
		}
		delete(r.rows, id)
		return verdict(id, true, row)
	case "touch":
		row.Expires = r.expiry(o)
	default:
		if !live {
			row = Row{Created: r.now} // a new lineage
		}
		if o["op"] != "incr" || !live {
			row.Expires = r.expiry(o)
		}
		if o["op"] == "incr" {
			row.Value = json.Number(r.sum(o, row).trim().String())
		} else {
			row.Value = canonical(o["value"])
		}
		r.issued++
		row.Version = r.issued
		row.Updated = r.now
	}
	r.rows[id] = row
	return verdict(id, true, row)
}

// expiry is the instant that an op's fields say; nil: never.
func (r *run) expiry(o op) *Instant {
	for field, micros := range map[string]int64{"ttlSeconds": 1e6, "ttlMs": 1e3} {
		if v, there := o[field]; there {
			n, _ := integer(v)
			at := r.now + Instant(n.Int64()*micros)
			return &at
		}
	}
	return nil
}

// sum is the number of a row, 0 for no row, and delta.
func (r *run) sum(o op, row Row) decimal {
	start := decimal{new(big.Int), 0}
	if n, ok := row.Value.(json.Number); ok {
		start = parseDecimal(n.String())
	}
	return start.add(field(o, "delta"))
}

func field(o op, name string) decimal { return parseDecimal(string(o[name].(json.Number))) }

// uncountable is the reason why an incr does not apply.
func (r *run) uncountable(o op, row Row, live bool) string {
	if !live {
		row = Row{}
	} else if !isNumber(row.Value) {
		return "type"
	}
	sum, delta := r.sum(o, row), field(o, "delta").n.Sign()
	_, hasMin := o["min"]
	_, hasMax := o["max"]
	switch {
	case !sum.countable(),
		hasMax && delta > 0 && sum.cmp(field(o, "max")) > 0,
		hasMin && delta < 0 && sum.cmp(field(o, "min")) < 0:
		return "limit"
	}
	return ""
}

// precondition is the fault that required makes of a lost op.
func (r *run) precondition(i int, o op, reason string, row Row) *Fault {
	detail := map[string]any{
		"index": number(i), "op": o["op"], "ns": o["ns"], "key": o["key"], "reason": reason, "value": row.Value,
		"version": json.Number(""), // its digits are the server's
	}
	bytes := len(text(detail))
	detail["version"] = row.Version
	return &Fault{Code: preconditionFailed, Index: i, Detail: detail, DetailBytes: bytes}
}
