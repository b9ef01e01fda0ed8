package conformance

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// files are the files of testdata that hold cases.
var files = []string{"conformance.json", "write_expiry.json", "byte_order.json"}

// settings opens a connection with these settings; the search path is empty unless it is one
// of them.
func settings(values map[string]string) func(*pgx.ConnConfig) {
	return func(cfg *pgx.ConnConfig) {
		cfg.RuntimeParams["search_path"] = ""
		for name, value := range values {
			cfg.RuntimeParams[name] = value
		}
	}
}

// playAll plays every case of every file as a subtest.
func playAll(t *testing.T, p *Player) {
	t.Helper()
	// Beyond the small numbers that cases expect as a version which nobody has, also when a few cases are played alone.
	if err := p.State.Exec(t.Context(), "alter sequence queen.kv_version_seq restart with 20000").Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		play(t, p, file)
	}
}

// play plays every case of a file as a subtest.
func play(t *testing.T, p *Player, file string) {
	t.Helper()
	cases, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) {
			diffs, err := p.Play(t.Context(), &cases[i])
			if err != nil {
				t.Fatal(err)
			}
			for _, diff := range diffs {
				t.Error(diff)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	playAll(t, &Player{Conn: db.Conn(t, settings(nil)).PgConn(), State: db.Conn(t).PgConn()})
}

// Times in results are UTC and ISO whatever the session says. A case with settings of its own
// keeps them.
func TestOddTimes(t *testing.T) {
	for _, odd := range []map[string]string{
		{"TimeZone": "Asia/Kathmandu", "DateStyle": "German, DMY", "IntervalStyle": "sql_standard"},
		{"TimeZone": "America/St_Johns", "DateStyle": "SQL, MDY", "IntervalStyle": "postgres_verbose"},
	} {
		t.Run(odd["TimeZone"]+" "+odd["DateStyle"], func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, nil)
			playAll(t, &Player{Conn: db.Conn(t, settings(odd)).PgConn(), State: db.Conn(t).PgConn()})
		})
	}
}

// In a database of PostgreSQL 14, which knows no such databases, the texts of the calls come
// from columns with the collation instead, which is what [TestTextsFromColumns] does too.
func TestICUDatabase(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, &testdb.Options{ICU: true})
	p := &Player{Conn: db.Conn(t, settings(nil)).PgConn(), State: db.Conn(t).PgConn()}
	if !db.ICU {
		t.Log("no ICU databases here: the texts of the calls come from columns with an ICU collation")
		p.Call = fromColumns(t, p.Conn, `pg_catalog."und-x-icu"`)
	}
	playAll(t, p)
}

func TestTextsFromColumns(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	p := &Player{Conn: db.Conn(t, settings(nil)).PgConn(), State: db.Conn(t).PgConn()}
	p.Call = fromColumns(t, p.Conn, `pg_catalog."und-x-icu"`)
	playAll(t, p)
}

// The state is read by the owner: what a writer may see is not what is tested here.
func TestAsWriter(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	role := db.Role(t)
	db.Exec(t, "select queen.kv_grant_v1('"+role+"', 'writer')")
	playAll(t, &Player{Conn: db.ConnAs(t, role, settings(nil)).PgConn(), State: db.Conn(t).PgConn()})
}
