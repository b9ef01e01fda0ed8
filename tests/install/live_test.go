package install_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/testdb"
)

// ops are a row of each kind: forever, with an expiry, a counter, and one that has expired.
const ops = `[{"op": "put", "ns": "n", "key": "forever", "value": {"a": 1}, "forever": true},
	{"op": "put", "ns": "n", "key": "hour", "value": null, "ttlSeconds": 3600},
	{"op": "incr", "ns": "n", "key": "counter", "delta": 5, "forever": true}]`

const everything = `select concat_ws(E'\n', (select string_agg(kv::text, E'\n' order by key) from queen.kv),
	(select string_agg(q::text, E'\n' order by q.tenant_id) from queen.kv_quota q))`

func fill(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, sql := range []string{
		"select queen.kv_apply_v1('" + ops + "')",
		`select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "expired", "value": 1, "ttlMs": 1}]', p_now => '2020-01-01 00:00Z')`,
		"insert into queen.kv_quota (tenant_id, max_rows) values (gen_random_uuid(), 10)",
	} {
		_, err := conn.Exec(t.Context(), sql)
		must(t, err)
	}
	if n := value[int](t, conn, "select count(*) from queen.kv"); n != 4 {
		t.Fatalf("%d rows to begin with, want 4", n)
	}
}

func TestOverLiveData(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		db := testdb.New(t, nil)
		conn := db.Conn(t)
		fill(t, conn)
		writer := db.Role(t)
		_, err := conn.Exec(t.Context(), "select queen.kv_grant_v1($1::text::regrole, 'writer')", writer)
		must(t, err)
		before := value[string](t, conn, everything)

		must(t, w.run(t.Context(), conn))
		same(t, "the data", before, value[string](t, conn, everything))

		// Versions go on from where they were, and the grant holds.
		const put = `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "forever", "value": 2, "forever": true}]')->0->>'applied'`
		if applied := value[string](t, db.ConnAs(t, writer), put); applied != "true" {
			t.Errorf("a put by the writer after the install: applied %s", applied)
		}
	})
}

// Installing again needs no lock that a writer's open transaction holds, so it doesn't wait.
func TestBesideAnOpenWriter(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		db := testdb.New(t, nil)
		writer := db.Conn(t)
		tx, err := writer.Begin(t.Context())
		must(t, err)
		defer tx.Rollback(context.WithoutCancel(t.Context()))
		_, err = tx.Exec(t.Context(), "select queen.kv_apply_v1('"+ops+"')")
		must(t, err)
		_, err = tx.Exec(t.Context(), "select from queen.kv_get_v1('n', 'forever')")
		must(t, err)

		must(t, w.run(t.Context(), db.Conn(t)))
		must(t, tx.Commit(t.Context()))
		if n := value[int](t, writer, "select count(*) from queen.kv"); n != 3 {
			t.Errorf("%d rows after the writer's commit, want 3", n)
		}
	})
}

// Where somebody holds the table exclusively it either isn't touched or the wait is short and
// ends with the clear word. Nothing is left half done.
func TestBesideAnExclusiveLock(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		db := testdb.New(t, nil)
		before := list(t, db.Conn(t))
		holder := db.Conn(t)
		tx, err := holder.Begin(t.Context())
		must(t, err)
		_, err = tx.Exec(t.Context(), "lock table queen.kv, queen.kv_quota in access exclusive mode")
		must(t, err)

		// The limit is a machine's that is busy: the contract's second is lock_timeout's business.
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := w.run(ctx, db.Conn(t)); err != nil {
			refused(t, err, "55P03")
			if w.name != "dist" && !strings.Contains(err.Error(), "end its transaction") {
				t.Errorf("no remedy in %q", err)
			}
		}
		must(t, tx.Rollback(t.Context()))
		same(t, "the schema", before, list(t, holder))
		must(t, w.run(t.Context(), db.Conn(t)))
	})
}

func TestValueCeiling(t *testing.T) {
	t.Parallel()
	const ceiling = "select queen.kv_limit_v1('value_bytes')"
	ctx := t.Context()
	_, conn := empty(t)
	must(t, queenkv.Migrate(ctx, conn, &queenkv.MigrateOptions{ValueBytes: 1000}))
	if got := value[int](t, conn, ceiling); got != 1000 {
		t.Errorf("migrated with 1000: %d", got)
	}
	must(t, queenkv.Install(ctx, conn, &queenkv.InstallOptions{ValueBytes: 2000}))
	if got := value[int](t, conn, ceiling); got != 2000 {
		t.Errorf("installed with 2000: %d", got)
	}
	must(t, queenkv.Install(ctx, conn, nil))
	if got := value[int](t, conn, ceiling); got != 65536 {
		t.Errorf("installed without: %d, want 65536", got)
	}
	for _, bytes := range []int{-1, 255, 1<<18 + 1} {
		if err := queenkv.Install(ctx, conn, &queenkv.InstallOptions{ValueBytes: bytes}); err == nil {
			t.Errorf("a ceiling of %d is taken", bytes)
		}
	}
}
