package sweeper

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A node is a node of a plan that ran.
type node struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Cond     string `json:"Index Cond"`
	Plans    []node `json:"Plans"`
}

func (n node) walk(visit func(node)) {
	visit(n)
	for _, child := range n.Plans {
		child.walk(visit)
	}
}

// A step reads queen.kv by the index range of each shard and by ctid, in index order, and by nothing else, however wrong the
// planner's statistics are: here the plans are made on an empty table and the rows come after, and then on one that is remembered
// as empty. A sort of the index's rows would read the whole backlog.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	var plans []string
	conn := db.Conn(t, func(cfg *pgx.ConnConfig) {
		cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			if _, plan, ok := strings.Cut(n.Message, "plan:"); ok {
				plans = append(plans, plan)
			}
		}
	})
	if _, err := conn.Exec(t.Context(), "load 'auto_explain'"); err != nil {
		testdb.NotRun(t, "plans inside functions: auto_explain can't be loaded: "+sqlState(err))
	}
	for _, setting := range []string{"log_min_duration = 0", "log_nested_statements = on", "log_format = json", "log_level = notice"} {
		exec(t, conn, "set auto_explain."+setting)
	}
	exec(t, conn, "alter table queen.kv set (autovacuum_enabled = off)")
	look := func(when string, atLeast int) {
		t.Helper()
		scans := 0
		for _, text := range plans {
			var one struct {
				Plan node `json:"Plan"`
			}
			must(t, json.Unmarshal([]byte(text), &one))
			one.Plan.walk(func(n node) {
				if n.Type == "Limit" || n.Type == "LockRows" {
					for _, child := range n.Plans {
						child.walk(func(below node) {
							if below.Type == "Sort" && strings.Contains(text, "idx_kv_shard_expires") && hasKV(below) {
								t.Errorf("%s: rows of the table are sorted: %s", when, text)
							}
						})
					}
				}
				if n.Relation != "kv" || n.Type == "ModifyTable" {
					return
				}
				scans++
				ranged := strings.HasPrefix(n.Type, "Index") && n.Index == "idx_kv_shard_expires" &&
					strings.Contains(n.Cond, "shard = ") && strings.Contains(n.Cond, "expires_at >= ") && strings.Contains(n.Cond, "expires_at <")
				if !ranged && n.Type != "Tid Scan" {
					t.Errorf("%s: %s using %q, on %s", when, n.Type, n.Index, n.Cond)
				}
			})
		}
		if scans < atLeast {
			t.Errorf("%s: %d scans of the table were seen, want %d", when, scans, atLeast)
		}
		plans = nil
	}
	expire(t, conn, 1000, nil)
	// What a step leaves out where there is nothing to delete.
	exec(t, conn, `select queen.kv_expire_delete_v1((queen.kv_expire_hold_v1('{0,1,2}', '0001-01-01Z', 'infinity', $1, 10, 10)).lie, $1)`, noon)
	look("empty", 4)
	insert(t, conn, 1, 20_000, "timestamptz '2030-01-01 10:00:00+00' + i * interval '1 millisecond'")
	insert(t, conn, 20_001, 20_002, "null")
	plans = nil
	expire(t, conn, 1000, nil)
	look("filled", 3)
	// As after an ANALYZE that came while the rows were not committed: many pages, and no row in them.
	exec(t, conn, `update pg_class set relpages = pg_relation_size(oid) / current_setting('block_size')::int, reltuples = 0
		where oid in ('queen.kv'::regclass, 'queen.idx_kv_shard_expires'::regclass, 'queen.kv_pkey'::regclass)`)
	exec(t, conn, "discard plans")
	plans = nil
	expire(t, conn, 1000, nil)
	look("said to be empty", 3)
	exec(t, conn, "analyze queen.kv")
	plans = nil
	expire(t, conn, 5000, nil)
	look("analyzed", 3)
}

func hasKV(n node) (found bool) {
	n.walk(func(n node) { found = found || n.Relation == "kv" })
	return found
}
