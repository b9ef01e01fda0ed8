package install_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
	"github.com/queenkv/queenkv/tests/verify"
)

func TestDistThroughPsql(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		psql, err = exec.LookPath(filepath.Join(os.Getenv("KV_TEST_POSTGRES_BIN"), "psql"))
	}
	if err != nil {
		testdb.NotRun(t, "no psql on this machine")
	}
	// As the file's head says it; --no-psqlrc for a machine that has one.
	run := func(db *testdb.DB) (string, error) {
		out, err := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "-q", "-v", "ON_ERROR_STOP=1",
			"-f", filepath.Join("../..", verify.DistPath), db.URL()).CombinedOutput()
		return string(out), err
	}
	want := list(t, testdb.New(t, nil).Conn(t))

	db, conn := empty(t)
	for range 2 {
		if out, err := run(db); err != nil || out != "" {
			t.Fatalf("psql -f: %v, printed %q", err, out)
		}
		same(t, "the schema", want, list(t, conn))
	}

	ascii := testdb.New(t, &testdb.Options{Empty: true, Encoding: "SQL_ASCII"})
	if out, err := run(ascii); err == nil || !strings.Contains(out, "ENCODING 'UTF8'") {
		t.Errorf("in a SQL_ASCII database: %v, %s", err, out)
	}
}

// The command line of tern works on the folder with the example's settings.
func TestTernCommandLine(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tern := filepath.Join(folder, "tern")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tern, "github.com/jackc/tern/v2").CombinedOutput(); err != nil {
		t.Fatalf("build tern: %v\n%s", err, out)
	}
	example, err := os.ReadFile("../../migrations/tern.conf.example")
	must(t, err)

	db := testdb.New(t, &testdb.Options{Empty: true})
	conn, role := owner(t, db)
	conf := filepath.Join(folder, "tern.conf")
	must(t, os.WriteFile(conf, []byte(fillIn(t, string(example), db.URLAs(t, role))), 0o600))
	_, err = conn.Exec(t.Context(), "create schema if not exists queen") // the example's one preparation
	must(t, err)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), tern, "migrate", "--migrations", "../../migrations", "--config", conf)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tern migrate: %v\n%s", err, out)
		}
	}
	if got := value[int](t, conn, "select queen.kv_limit_v1('value_bytes')"); got != 1000 {
		t.Errorf("value_bytes is %d, the settings say 1000", got)
	}
	// Migrate goes on where the command line was.
	before := list(t, conn)
	must(t, migrate.run(t.Context(), conn))
	same(t, "the schema", before, list(t, conn))
}

// fillIn does what the example asks its reader to do: write one's own connection.
func fillIn(t *testing.T, example, url string) string {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	must(t, err)
	for old, own := range map[string]string{
		"host = 127.0.0.1":      "host = " + c.Host,
		"port = 5432":           fmt.Sprintf("port = %d", c.Port),
		"database = app":        "database = " + c.Database,
		"user = app":            "user = " + c.User,
		"# password =":          "password = " + c.Password,
		"# value_bytes = 65536": "value_bytes = 1000",
	} {
		if strings.Count(example, "\n"+old+"\n") != 1 {
			t.Fatalf("the example has not one line %q", old)
		}
		example = strings.Replace(example, "\n"+old+"\n", "\n"+own+"\n", 1)
	}
	return example
}
