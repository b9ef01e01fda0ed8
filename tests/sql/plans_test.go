package sql

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A node is a node of a plan, as EXPLAIN (FORMAT JSON) gives it, with its buffers when it ran.
type node struct {
	Type       string `json:"Node Type"`
	Schema     string `json:"Schema"`
	Relation   string `json:"Relation Name"`
	Index      string `json:"Index Name"`
	IndexCond  string `json:"Index Cond"`
	Filter     string `json:"Filter"`
	Function   string `json:"Function Name"`
	SharedHit  int    `json:"Shared Hit Blocks"`
	SharedRead int    `json:"Shared Read Blocks"`
	Plans      []node `json:"Plans"`
}

func (n node) walk(visit func(node)) {
	visit(n)
	for _, child := range n.Plans {
		child.walk(visit)
	}
}

// find is the nodes that read queen.kv, and the number of function scans.
func (n node) find() (onKV []node, functionScans int) {
	n.walk(func(n node) {
		switch {
		case n.Type == "Function Scan" && strings.HasPrefix(n.Function, "kv_get"):
			functionScans++
		case n.Relation == "kv" && strings.HasSuffix(n.Type, "Scan"):
			onKV = append(onKV, n)
		}
	})
	return onKV, functionScans
}

// mustUsePrimaryKey fails the test unless every one of the nodes is a scan of the primary key
// whose index condition holds all of these.
func mustUsePrimaryKey(t *testing.T, nodes []node, conditions ...string) {
	t.Helper()
	if len(nodes) == 0 {
		t.Error("no node of the plan reads queen.kv")
	}
	for _, n := range nodes {
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

const keyCount = 20000

// filled makes a table of 20,000 rows whose keys start with p:, and some before and after, as
// they would be after a vacuum: statistics made, hint bits set.
func filled(t *testing.T, db *testdb.DB) {
	t.Helper()
	db.Exec(t, fmt.Sprintf(`insert into queen.kv (namespace, key, value)
		select 'n', p.prefix || to_char(i, 'FM00000'), to_jsonb(i)
		from generate_series(0, %d) as i, (values ('p:')) as p (prefix)
		union all select 'n', p.prefix || i, '1' from generate_series(1, 500) as i, (values ('o:'), ('q:')) as p (prefix)
		union all select 'other', 'p:' || i, '1' from generate_series(1, 500) as i`, keyCount-1))
	db.Exec(t, "vacuum analyze queen.kv")
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

// Every op of one key, and getMany, goes to its rows by the primary key.
func TestOpsUseThePrimaryKey(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	filled(t, db)
	conn := watch(t, db)
	for _, op := range []string{
		`{"op": "get", "ns": "n", "key": "p:00007"}`,
		`{"op": "put", "ns": "n", "key": "p:00007", "value": 1, "forever": true}`,
		`{"op": "putIfAbsent", "ns": "n", "key": "p:00007", "value": 1, "forever": true}`,
		`{"op": "touch", "ns": "n", "key": "p:00007", "ttlSeconds": 60}`,
		`{"op": "incr", "ns": "n", "key": "p:00007", "delta": 1, "ttlSeconds": 60}`,
		`{"op": "delete", "ns": "n", "key": "p:00007"}`,
		`{"op": "getMany", "ns": "n", "keys": ["p:00008", "p:19999", "absent"]}`,
	} {
		t.Run(op, func(t *testing.T) {
			answer, nodes := conn.kv(t, "["+op+"]")
			if !strings.HasPrefix(answer, "[{") {
				t.Fatal(answer)
			}
			mustUsePrimaryKey(t, nodes, "tenant_id = ", "namespace = ", "key = ")
		})
	}
}

// Both bounds of a prefix are index conditions in a generic plan, and the last page of a long
// prefix reads no more than the first.
func TestPages(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	filled(t, db)
	conn := watch(t, db)
	page := func(after int) (buffers int) {
		t.Helper()
		op := `{"op": "getPrefix", "ns": "n", "prefix": "p:", "limit": 100`
		if after >= 0 {
			op += fmt.Sprintf(`, "after": "p:%05d"`, after)
		}
		answer, nodes := conn.kv(t, "["+op+"}]")
		if rows := strings.Count(answer, `"key"`); rows != 100 || !strings.Contains(answer, fmt.Sprintf(`"p:%05d"`, after+100)) {
			t.Fatalf("the page after %d has %d rows: %.300s", after, rows, answer)
		}
		mustUsePrimaryKey(t, nodes, "tenant_id = ", "namespace = ", "key >= ", "key < ")
		for _, n := range nodes {
			buffers += n.SharedHit + n.SharedRead
		}
		return buffers
	}
	first, middle, last := page(-1), page(keyCount/2-1), page(keyCount-101)
	// A page may begin and end anywhere in a block of the index and of the table.
	const slack = 8
	t.Logf("of %d keys: the first page reads %d buffers, one in the middle %d, the last %d", keyCount, first, middle, last)
	if first == 0 || first > 60 {
		t.Errorf("the first page reads %d buffers, for 100 rows side by side", first)
	}
	if middle > first+slack || last > first+slack {
		t.Errorf("the first page reads %d buffers, one in the middle %d, the last %d", first, middle, last)
	}
}

// The typed reads are inlined where they are called in FROM with constants, parameters or
// columns: the plan shows the table and no function.
func TestTypedReadsAreInlined(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	filled(t, db)
	conn := db.Conn(t)
	for _, sql := range []string{
		"set plan_cache_mode = force_generic_plan",
		"create table wanted as select 'n' as ns, 'p:0000' || i as key, queen.kv_default_tenant_v1() as tenant, array['p:0000' || i] as keys from generate_series(1, 9) as i",
		"analyze wanted",
		"prepare one (text, text) as select * from queen.kv_get_v1($1, $2)",
		"prepare one_now (text, text, uuid, timestamptz) as select * from queen.kv_get_v1($1, $2, $3, $4)",
		"prepare many (text, text[]) as select * from queen.kv_get_many_v1($1, $2)",
		"prepare many_now (text, text[], uuid, timestamptz) as select * from queen.kv_get_many_v1($1, $2, $3, $4)",
	} {
		_, err := conn.Exec(t.Context(), sql)
		must(t, err)
	}
	tenant := "'00000000-0000-0000-0000-000000000001'"
	for _, c := range []struct{ sql, keys string }{
		{"select * from queen.kv_get_v1('n', 'p:00007')", "key = "},
		{"select * from queen.kv_get_v1('n', 'p:00007', " + tenant + ", '2031-01-01Z')", "key = "},
		{"select value::text from queen.kv_get_v1('n', 'p:00007')", "key = "},
		{"execute one ('n', 'p:00007')", "key = "},
		{"execute one_now ('n', 'p:00007', " + tenant + ", null)", "key = "},
		{"select g.* from wanted as w, queen.kv_get_v1(w.ns, w.key) as g", "key = "},
		{"select g.* from wanted as w left join lateral queen.kv_get_v1(w.ns, w.key, w.tenant, now()) as g on true", "key = "},
		{"select * from queen.kv_get_many_v1('n', '{p:00007,p:00008}')", "key = ANY"},
		{"execute many ('n', '{p:00007,p:00008}')", "key = ANY"},
		{"execute many_now ('n', '{p:00007}', " + tenant + ", '2031-01-01Z')", "key = ANY"},
		{"select g.* from wanted as w, queen.kv_get_many_v1(w.ns, w.keys) as g", "key = ANY"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			onKV, functionScans := explain(t, conn, c.sql).find()
			if functionScans > 0 {
				t.Error("a function scan")
			}
			mustUsePrimaryKey(t, onKV, "tenant_id = ", "namespace = ", c.keys)
		})
	}
	// Where the documentation says that they are not.
	for _, sql := range []string{
		"select * from queen.kv_get_v1('n', 'p:' || clock_timestamp()::text)",
		"select * from queen.kv_get_v1('n', (select max(key) from wanted))",
	} {
		if _, functionScans := explain(t, conn, sql).find(); functionScans != 1 {
			t.Errorf("%s is inlined, and the documentation says that it is not", sql)
		}
	}
}

func explain(t *testing.T, conn *pgx.Conn, sql string) node {
	t.Helper()
	var text string
	scan(t, conn, "explain (format json) "+sql, []any{pgx.QueryExecModeSimpleProtocol}, &text)
	var plans []statement
	must(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan
}
