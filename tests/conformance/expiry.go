package conformance

import "fmt"

// expiryFaults holds the last write of each key against the row that is there afterwards: a
// write's expiresAt is that row's, null for forever or no row (an applied delete shows the row
// that it deleted). It holds in every case, whether its file writes expiresAt down or not.
func (r *run) expiryFaults(results []any, state map[string][]any) (faults []string) {
	type identity struct{ ns, key any }
	rows := map[identity]any{}
	tenant := r.c.Tenant
	if tenant == "" {
		tenant = "A"
	}
	for _, v := range state[tenant] {
		row := v.(map[string]any)
		rows[identity{row["ns"], row["key"]}] = row["expiresAt"]
	}
	expanded, err := expand(r.c.Ops, nil)
	ops, ok := expanded.([]any)
	if err != nil || !ok || r.c.Follow {
		return nil
	}
	last := map[identity]map[string]any{}
	for i, v := range results {
		result, _ := v.(map[string]any)
		op, _ := ops[i].(map[string]any)
		if _, isWrite := result["applied"]; isWrite {
			last[identity{op["ns"], op["key"]}] = result
		}
	}
	for id, result := range last {
		shown, ok := result["expiresAt"]
		switch {
		case result["op"] == "delete" && result["applied"] == true:
		case !ok:
			faults = append(faults, fmt.Sprintf("results[%v] has no expiresAt", result["index"]))
		case shown != rows[id]:
			faults = append(faults, fmt.Sprintf("results[%v].expiresAt\n  want the row's, %s\n  got  %s",
				result["index"], show(rows[id]), show(shown)))
		}
	}
	return faults
}
