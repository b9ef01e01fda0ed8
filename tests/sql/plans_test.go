package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

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
