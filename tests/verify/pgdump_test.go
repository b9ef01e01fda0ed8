package verify_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// pg_dump looks from another side than our listing does, and shows what that would forget.
func TestEveryWayLeadsToTheSameDump(t *testing.T) {
	t.Parallel()
	program := pgDump(t)
	want := dump(t, program, testdb.New(t, nil))
	for _, w := range ways(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, &testdb.Options{Empty: true})
			w.take(t, db.Conn(t))
			compare(t, want, w.name, dump(t, program, db))
		})
	}
}

// pgDump finds a pg_dump that is not older than the server.
func pgDump(t *testing.T) string {
	t.Helper()
	server := testdb.ServerMajor(t)
	candidates := []string{filepath.Join(os.Getenv("KV_TEST_POSTGRES_BIN"), "pg_dump"), "pg_dump"}
	packaged, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump") // fails for a bad pattern alone
	var seen []string
	for _, program := range append(candidates, packaged...) {
		out, err := exec.Command(program, "--version").Output()
		if err != nil {
			continue
		}
		m := versionPattern.FindSubmatch(out)
		if m == nil {
			continue
		}
		if major, err := strconv.Atoi(string(m[1])); err == nil && major >= server {
			return program
		}
		if version := strings.TrimSpace(string(out)); !slices.Contains(seen, version) {
			seen = append(seen, version)
		}
	}
	testdb.NotRun(t, fmt.Sprintf("no pg_dump of version %d or newer for the server (found: %q)", server, seen))
	return ""
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// restrictPattern is a line with a key that pg_dump draws anew for each dump.
var restrictPattern = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

func dump(t *testing.T, program string, db *testdb.DB) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "--schema-only", "--schema=queen", "--exclude-table=queen.schema_version", db.URL())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, stderr.String())
	}
	return restrictPattern.ReplaceAllString(string(out), "")
}
