package model

import (
	"slices"
	"strings"
)

// get always answers, whatever is left of the budget, and spends it.
func (r *run) get(o op) map[string]any {
	id := idOf(o)
	row, there := r.rows[id]
	if !there || !row.Live(r.now) {
		r.event(o, "not found", r.state(id))
		return map[string]any{"found": false, "key": id.Key}
	}
	r.event(o, "found", r.state(id))
	result := r.row(id, row, true)
	result["found"] = true
	return result
}

// row is a row as reads show it; showing the value spends the budget.
func (r *run) row(id ID, row Row, withValue bool) map[string]any {
	m := map[string]any{
		"key": id.Key, "version": row.Version, "expiresAt": row.expiresAt(), "updatedAt": row.Updated.String(),
	}
	if withValue {
		m["value"] = row.Value
		r.budget -= len(text(row.Value))
	}
	return m
}

func (r *run) getMany(o op) map[string]any {
	ns := o["ns"].(string)
	var live []ID
	missing := []any{}
	seen := map[string]bool{}
	for _, v := range o["keys"].([]any) {
		id := ID{ns, v.(string)}
		if seen[id.Key] {
			continue
		}
		seen[id.Key] = true
		if row, there := r.rows[id]; there && row.Live(r.now) {
			live = append(live, id)
		} else {
			missing = append(missing, id.Key)
			r.event(o, "missing", r.state(id))
		}
	}
	rows, truncated := r.list(o, live, len(live), true)
	return map[string]any{"rows": rows, "missing": missing, "truncated": truncated}
}

func (r *run) getPrefix(o op) map[string]any {
	prefix := o["prefix"].(string)
	after, _ := o["after"].(string)
	var live []ID
	for id, row := range r.rows {
		if id.Namespace != o["ns"] || !strings.HasPrefix(id.Key, prefix) || id.Key <= after {
			continue
		}
		if row.Live(r.now) {
			live = append(live, id)
		} else {
			r.event(o, "passed over", "expired")
		}
	}
	rows, truncated := r.list(o, live, r.Limits.page(o), o["keysOnly"] != true)
	result := map[string]any{"rows": rows, "truncated": truncated, "nextAfter": nil}
	if truncated {
		result["nextAfter"] = rows[len(rows)-1].(map[string]any)["key"]
	}
	return result
}

// list shows live rows in byte order, at most so many, as long as any of the budget is left, but
// one at least; truncated tells whether some were left out.
func (r *run) list(o op, live []ID, most int, withValues bool) (rows []any, truncated bool) {
	slices.SortFunc(live, ID.compare)
	rows = []any{}
	for i, id := range live {
		if i == most || i > 0 && withValues && r.budget <= 0 {
			for _, cut := range live[i:] {
				r.event(o, "cut", r.state(cut))
			}
			return rows, true
		}
		r.event(o, "row", r.state(id))
		rows = append(rows, r.row(id, r.rows[id], withValues))
	}
	return rows, false
}

// page is how many rows a getPrefix may give: the limit that it says, clamped.
func (l Limits) page(o op) int {
	n, ok := integer(o["limit"])
	switch {
	case !ok:
		return l.Page
	case n.Sign() <= 0:
		return 1
	case !n.IsInt64() || n.Int64() > int64(l.PageMax):
		return l.PageMax
	}
	return int(n.Int64())
}
