package sql

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A node is a node of a plan, as EXPLAIN (FORMAT JSON) gives it, with its buffers when it ran.
type node struct {
	Type       string   `json:"Node Type"`
	Schema     string   `json:"Schema"`
	Relation   string   `json:"Relation Name"`
	Index      string   `json:"Index Name"`
	IndexCond  string   `json:"Index Cond"`
	Filter     string   `json:"Filter"`
	Function   string   `json:"Function Name"`
	SharedHit  int      `json:"Shared Hit Blocks"`
	SharedRead int      `json:"Shared Read Blocks"`
	Arbiters   []string `json:"Conflict Arbiter Indexes"`
	Plans      []node   `json:"Plans"`
}

func (n node) walk(visit func(node)) {
	visit(n)
	for _, child := range n.Plans {
		child.walk(visit)
	}
}

// find is the nodes that look for rows of queen.kv, and the number of function scans.
func (n node) find() (onKV []node, functionScans int) {
	n.walk(func(n node) {
		switch {
		case n.Type == "Function Scan" && strings.HasPrefix(n.Function, "kv_get"):
			functionScans++
		case n.Relation == "kv" && (strings.HasSuffix(n.Type, "Scan") || n.Arbiters != nil):
			onKV = append(onKV, n)
		}
	})
	return onKV, functionScans
}

// mustUsePrimaryKey fails the test unless every one of the nodes is a scan of the primary key
// whose index condition holds all of these, or an insert that meets its row by the primary key.
func mustUsePrimaryKey(t *testing.T, nodes []node, conditions ...string) {
	t.Helper()
	if len(nodes) == 0 {
		t.Error("no node of the plan reads queen.kv")
	}
	for _, n := range nodes {
		if slices.Equal(n.Arbiters, []string{"kv_pkey"}) {
			continue
		}
		if !strings.HasPrefix(n.Type, "Index") || n.Index != "kv_pkey" {
			t.Errorf("%s using %q, want an index scan using kv_pkey", n.Type, n.Index)
			continue
		}
		for _, c := range conditions {
			if !strings.Contains(n.IndexCond, c) {
				t.Errorf("the index condition %s doesn't hold %q", n.IndexCond, c)
			}
		}
	}
}

// statements is a connection that tells the plan of every statement that is executed, those
// inside functions too, with what its nodes have read.
type statements struct {
	*pgx.Conn
	plans []statement
}

type statement struct {
	Text string `json:"Query Text"`
	Plan node   `json:"Plan"`
}

// watch opens such a connection; plans are generic. It needs the module auto_explain, and a role
// that may load it.
func watch(t *testing.T, db *testdb.DB) *statements {
	t.Helper()
	s := &statements{}
	s.Conn = db.Conn(t, func(cfg *pgx.ConnConfig) {
		cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			_, plan, ok := strings.Cut(n.Message, "plan:")
			if !ok {
				return
			}
			var one statement
			if err := json.Unmarshal([]byte(plan), &one); err != nil {
				t.Errorf("the plan %s: %v", plan, err)
			}
			s.plans = append(s.plans, one)
		}
	})
	if _, err := s.Exec(t.Context(), "load 'auto_explain'"); err != nil {
		testdb.NotRun(t, "plans inside functions: auto_explain can't be loaded: "+failure(err))
	}
	for _, setting := range []string{"plan_cache_mode = force_generic_plan", "auto_explain.log_min_duration = 0", "auto_explain.log_nested_statements = on",
		"auto_explain.log_analyze = on", "auto_explain.log_buffers = on", "auto_explain.log_timing = off", "auto_explain.log_format = json",
		"auto_explain.log_level = notice", "jit = off"} {
		_, err := s.Exec(t.Context(), "set "+setting)
		must(t, err)
	}
	return s
}

// kv calls kv_apply_v1 and returns what its statements did to queen.kv.
func (s *statements) kv(t *testing.T, ops string) (answer string, nodes []node) {
	t.Helper()
	s.plans = nil
	answer = evaluate(t.Context(), s, "queen.kv_apply_v1($1::jsonb)", ops)
	for _, one := range s.plans {
		onKV, _ := one.Plan.find()
		nodes = append(nodes, onKV...)
	}
	return answer, nodes
}

func explain(t *testing.T, conn *pgx.Conn, sql string) node {
	t.Helper()
	var text string
	scan(t, conn, "explain (format json) "+sql, []any{pgx.QueryExecModeSimpleProtocol}, &text)
	var plans []statement
	must(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan
}
