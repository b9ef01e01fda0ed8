package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/queenkv/queenkv/tests/model"
)

// cells are all that can happen, by the contract: which op has which outcome at a key in which
// state. Refused ops look at no key; their state is "any".
func cells() map[model.Event]bool {
	all := map[model.Event]bool{}
	add := func(op, outcome string, states ...string) {
		for _, state := range states {
			all[model.Event{Op: op, Outcome: outcome, State: state}] = true
		}
	}
	write := func(op, reason string, states ...string) { // with required, too
		add(op, reason, states...)
		add(op, reason+", required", states...)
	}
	alive := []string{"live", "other type"}
	gone := []string{"absent", "expired"}

	add("get", "found", alive...)
	add("get", "not found", gone...)
	add("getMany", "row", alive...)
	add("getMany", "missing", gone...)
	add("getMany", "cut", alive...)
	add("getPrefix", "row", alive...)
	add("getPrefix", "passed over", "expired")
	add("getPrefix", "cut", alive...)
	for _, op := range []string{"put", "delete"} { // expect: 0 lets delete apply where nothing is alive
		add(op, "applied", slices.Concat(alive, gone)...)
	}
	add("putIfAbsent", "applied", gone...)
	add("touch", "applied", alive...)
	for _, op := range []string{"put", "delete", "touch"} { // those with expect
		write(op, "exists", alive...)
		write(op, "absent", gone...)
		write(op, "version", alive...)
	}
	write("putIfAbsent", "exists", alive...)
	add("incr", "applied", "absent", "expired", "live")
	write("incr", "limit", "absent", "expired", "live")
	write("incr", "type", "other type")

	for outcome, ops := range map[string][]string{
		"kv_bad_request":                           {"the call", "no op", "getMany", "getPrefix", "put", "putIfAbsent", "delete", "incr", "touch"},
		"kv_unknown_op":                            {"no op"},
		"kv_too_many_ops":                          {"the call"},
		"kv_too_many_keys":                         {"the call"},
		"kv_tenant_not_an_input":                   opNames,
		"kv_unknown_field":                         opNames,
		"kv_bad_namespace":                         opNames,
		"kv_key_too_large":                         opNames,
		"kv_bad_key":                               {"get", "getMany", "put", "putIfAbsent", "delete", "incr", "touch"},
		"kv_prefix_required":                       {"getPrefix"},
		"kv_expiry_not_specified":                  {"put", "putIfAbsent", "incr", "touch"},
		"kv_bad_ttl":                               {"put", "putIfAbsent", "incr", "touch"},
		"kv_value_too_large":                       {"put", "putIfAbsent"},
		"kv_bad_expect":                            {"put", "putIfAbsent", "delete", "touch"},
		"kv_bad_number":                            {"incr"},
		"kv_get_prefix_not_allowed_in_transaction": {"getPrefix"},
	} {
		for _, op := range ops {
			add(op, outcome, "any")
		}
	}
	return all
}

// coverage is a table of the counts, and what is wrong with them: cells that can happen and did
// not, or the reverse.
func coverage(counts map[model.Event]int) (table string, wrong []string) {
	can := cells()
	type line struct{ op, outcome string }
	lines := map[line]map[string]string{}
	for e := range can {
		l := line{e.Op, e.Outcome}
		if lines[l] == nil {
			lines[l] = map[string]string{}
		}
		lines[l][e.State] = fmt.Sprint(counts[e])
		if counts[e] == 0 {
			wrong = append(wrong, fmt.Sprintf("never happened: %s, %s, %s", e.Op, e.Outcome, e.State))
		}
	}
	for e := range counts {
		if !can[e] {
			wrong = append(wrong, fmt.Sprintf("can't happen, by the table: %s, %s, %s", e.Op, e.Outcome, e.State))
		}
	}
	slices.Sort(wrong)
	states := []string{"absent", "live", "expired", "other type", "any"}
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %-42s", "op", "outcome")
	for _, state := range states {
		fmt.Fprintf(&b, "%11s", state)
	}
	order := slices.SortedFunc(maps.Keys(lines), func(x, y line) int {
		return strings.Compare(x.op+"/"+x.outcome, y.op+"/"+y.outcome)
	})
	for _, l := range order {
		row := fmt.Sprintf("\n%-12s %-42s", l.op, l.outcome)
		for _, state := range states {
			row += fmt.Sprintf("%11s", lines[l][state])
		}
		b.WriteString(strings.TrimRight(row, " "))
	}
	return b.String(), wrong
}
