package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A node is a node of a plan that ran.
type node struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Cond     string `json:"Index Cond"`
	Loops    int    `json:"Actual Loops"`
	Plans    []node `json:"Plans"`
}

func (n node) walk(visit func(node)) {
	visit(n)
	for _, child := range n.Plans {
		child.walk(visit)
	}
}

// readsTable tells whether a row of queen.kv comes up from a plan.
func (n node) readsTable() (found bool) {
	n.walk(func(n node) { found = found || n.Relation == "kv" })
	return found
}

// plans runs one step on the full table, looks at the plan of each of its statements, as auto_explain shows them, and fails when one
// reads the table by anything but the range of each shard in the index, or by ctid. Nothing of the table may be sorted below a limit.
func (b *bench) plans(ctx context.Context) (string, error) {
	if err := b.fillExpired(ctx, shuffled); err != nil {
		return "", err
	}
	cfg, err := pgx.ParseConfig(b.server.Cluster.URL())
	if err != nil {
		return "", err
	}
	var texts []string
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if _, plan, ok := strings.Cut(n.Message, "plan:"); ok {
			texts = append(texts, plan)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
		set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set auto_explain.log_format = json; set auto_explain.log_level = notice`)
	if err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, callStep, 1000, nil); err != nil {
		return "", err
	}
	return planTable(texts)
}

// planTable sums up how the table was read.
func planTable(texts []string) (string, error) {
	reads := map[string]int{} // loops
	for _, text := range texts {
		var one struct{ Plan node }
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return "", err
		}
		var fault error
		one.Plan.walk(func(n node) {
			ranged := n.Index == "idx_kv_shard_expires" && strings.Contains(n.Cond, "shard = ") &&
				strings.Contains(n.Cond, "expires_at >= ") && strings.Contains(n.Cond, "expires_at <")
			switch {
			case n.Type == "Limit" && slices.ContainsFunc(n.Plans, func(n node) bool { return n.Type == "Sort" && n.readsTable() }):
				fault = fmt.Errorf("rows of the table are sorted: %s", text)
			case n.Relation != "kv" || n.Type == "ModifyTable":
			case n.Type == "Tid Scan":
				reads["Tid Scan"] += n.Loops
			case ranged && strings.HasPrefix(n.Type, "Index"):
				reads[n.Type+" of idx_kv_shard_expires on shard and expires_at"] += n.Loops
			default:
				fault = fmt.Errorf("the table is read by a %s: %s", n.Type, text)
			}
		})
		if fault != nil {
			return "", fault
		}
	}
	if len(reads) < 2 {
		return "", fmt.Errorf("no plans were seen: %v", reads)
	}
	text := "\nHow the statements of one step of 1000 rows read the full table (`auto_explain`); nothing else reads it, and no sort is below a limit:\n\n| plan node | times |\n|---|---:|\n"
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		text += fmt.Sprintf("| %s | %d |\n", name, reads[name])
	}
	return text, nil
}
