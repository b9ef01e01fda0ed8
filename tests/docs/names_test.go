package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

var function = regexp.MustCompile(`\bkv_[a-z_]+_v\d+\b`)

// TestNames looks up every function that a page names.
func TestNames(t *testing.T) {
	t.Parallel()
	rows, err := testdb.New(t, nil).Conn(t).Query(t.Context(),
		"select proname::text from pg_catalog.pg_proc where pronamespace = 'queen'::regnamespace")
	if err != nil {
		t.Fatal(err)
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range function.FindAllString(string(text), -1) {
			if !slices.Contains(there, name) {
				t.Errorf("%s names %s, which is not in the schema", page, name)
			}
		}
	}
}

// code is a code of the store where the SQL raises it: the first word of a fault, or a message.
var code = regexp.MustCompile(`'(kv_[a-z_]+)(?: [^']*)?'`)

// TestCodes looks for every code that sql/ can raise in docs/sql.md.
func TestCodes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile("`(kv_[a-z_]+)`").FindAllStringSubmatch(string(text), -1)
	found := 0
	err = filepath.WalkDir("../../sql", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		sql, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range code.FindAllStringSubmatch(string(sql), -1) {
			if function.MatchString(m[1]) {
				continue
			}
			found++
			if !slices.ContainsFunc(documented, func(d []string) bool { return d[1] == m[1] }) {
				t.Errorf("%s raises %s, which docs/sql.md does not list", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no code was found in sql/")
	}
}
