package sweepergo

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

type finding struct {
	Check, Level, What, Why, Do string
	Number                      any
}

// doctor gives the status, and what was found by name.
func doctor(t *testing.T, url string, args ...string) (int, map[string]finding) {
	t.Helper()
	e := play(t, connection(url), append([]string{"doctor", "--json"}, args...)...)
	all := map[string]finding{}
	for line := range strings.Lines(e.out) {
		var f finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[f.Check] = f
	}
	return e.status, all
}

// Each thing that rots is found, with its number, a reason and a remedy, and status 2; nothing else is.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  string
		as     string // the level of the role; empty: the owner
		args   []string
		number any // nil: any above 0
	}{
		"index":         {spoil: "drop index queen.idx_kv_shard_expires", number: 1.0},
		"unpruned_rows": {spoil: "insert into queen.kv (namespace, key, value, expires_at) values ('a', 'b', '1', now() - interval '1 hour')", number: 1.0},
		"hidden_rows":   {spoil: "alter table queen.kv enable row level security", as: "sweeper", number: 1.0},
		"rights":        {as: "reader"},
		"usage":         {spoil: "select queen.kv_quota_set_v1('7c3f1c52-51a8-4c0e-9d0b-9f3f0e5b1a77', 1, null)", number: 1.0},
		"schema_version": {number: 0.0, spoil: "create or replace function queen.kv_schema_version_v1() returns integer language sql " +
			"immutable parallel safe begin atomic select 0; end"},
		"dead_rows": {spoil: `alter table queen.kv set (autovacuum_enabled = off);
			insert into queen.kv (namespace, key, value) select 'dead', 'k' || g, '1' from generate_series(1, 15000) as g;
			delete from queen.kv`, number: 15000.0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, nil)
			url := db.URL()
			if c.as != "" {
				url = db.URLAs(t, grantee(t, db, c.as))
			}
			if status, found := doctor(t, db.URL()); status != 0 || len(found) < 10 {
				t.Fatalf("a fresh database: status %d, %v", status, found)
			}
			spoil(t, db, c.spoil)
			var status int
			var found map[string]finding
			eventually(t, "it is found", func() bool { // the statistics may come a moment later
				status, found = doctor(t, url, c.args...)
				return status == 2
			})
			for check, f := range found {
				if check != name && f.Level == "problem" {
					t.Errorf("found besides: %+v", f)
				}
			}
			f := found[name]
			if f.Level != "problem" || f.What == "" || f.Why == "" || f.Do == "" || f.Number == nil || (c.number != nil && f.Number != c.number) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// spoil runs each statement in a transaction of its own.
func spoil(t *testing.T, db *testdb.DB, sql string) {
	t.Helper()
	for statement := range strings.SplitSeq(sql, ";\n") {
		if statement != "" {
			db.Exec(t, statement)
		}
	}
}

func TestDoctorOldSnapshot(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	conn := db.Conn(t)
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	if _, err := tx.Exec(t.Context(), "select 1"); err != nil {
		t.Fatal(err)
	}
	if status, found := doctor(t, db.URL(), "--max-snapshot-age", "1ms"); status != 2 || found["oldest_snapshot"].Level != "problem" {
		t.Errorf("status %d, %+v", status, found["oldest_snapshot"])
	}
	if status, found := doctor(t, db.URL(), "--max-snapshot-age", "1h"); status != 0 || found["oldest_snapshot"].Level != "ok" {
		t.Errorf("it may be older: status %d, %+v", status, found["oldest_snapshot"])
	}
	// A role that may not see others' sessions says so.
	status, found := doctor(t, db.URLAs(t, grantee(t, db, "sweeper")), "--max-snapshot-age", "1ms")
	if status != 0 || found["oldest_snapshot"].Level != "unknown" {
		t.Errorf("a role that can't see: status %d, %+v", status, found["oldest_snapshot"])
	}
}

func TestDoctorHOTUpdates(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	db.Exec(t, "insert into queen.kv (namespace, key, value, expires_at) select 'hot', 'k' || g, '1', now() + interval '1 hour' from generate_series(1, 12000) as g")
	db.Exec(t, "update queen.kv set expires_at = expires_at + interval '1 hour'")
	var f finding
	eventually(t, "the note", func() bool {
		status, found := doctor(t, db.URL(), "--max-dead-ratio", "1")
		f = found["hot_updates"]
		return status == 0 && f.Level == "note"
	})
	if f.Number != 0.0 || f.Why == "" || f.Do == "" {
		t.Errorf("%+v", f)
	}
}

func TestDoctorCollationVersion(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, &testdb.Options{ICU: true})
	if !db.ICU {
		testdb.NotRun(t, "databases have no collation of ICU's before PostgreSQL 15")
	}
	conn := db.Conn(t)
	var super bool
	if err := conn.QueryRow(t.Context(), "select current_setting('is_superuser')::boolean").Scan(&super); err != nil {
		t.Fatal(err)
	}
	if !super {
		testdb.NotRun(t, "only a superuser can pretend that a collation changed")
	}
	db.Exec(t, "update pg_database set datcollversion = '1' where datname = current_database()")
	status, found := doctor(t, db.URL())
	if f := found["collation_version"]; status != 2 || f.Level != "problem" || f.Number != 1.0 || !strings.Contains(f.What, "made with 1") {
		t.Errorf("status %d, %+v", status, f)
	}
}

// For a person: a line for each check, and the remedy under what was found.
func TestDoctorText(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	db.Exec(t, "drop index queen.idx_kv_shard_expires")
	e := play(t, connection(db.URL()), "doctor")
	all := strings.Split(e.out, "\n")
	i := slices.IndexFunc(all, func(l string) bool { return strings.HasPrefix(l, "problem  index ") })
	if e.status != 2 || i < 0 || !strings.Contains(all[i+1], "why: ") || !strings.Contains(all[i+2], "do:  create index concurrently") {
		t.Errorf("status %d\n%s", e.status, e.out)
	}
	if e.err != "kv-sweeper: 1 of 10 checks found a problem\n" {
		t.Errorf("%q", e.err)
	}
}
