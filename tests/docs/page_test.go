package docs

import (
	"testing"

	"github.com/queenkv/queenkv/tests/page"
)

// An example is a block of SQL and what the page says it prints.
type example struct {
	line   int // of the page, where the SQL begins
	sql    string
	kind   string // text, json, or empty when nothing is said
	output string
}

func blocks(t *testing.T, path string) []page.Block {
	t.Helper()
	all, err := page.Blocks(path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func examples(t *testing.T, path string) []example {
	t.Helper()
	var out []example
	all := blocks(t, path)
	for i, b := range all {
		if b.Kind != "sql" {
			continue
		}
		e := example{line: b.Line, sql: b.Text}
		if i+1 < len(all) && all[i+1].Adjoins && (all[i+1].Kind == "text" || all[i+1].Kind == "json") {
			e.kind, e.output = all[i+1].Kind, all[i+1].Text
		}
		out = append(out, e)
	}
	return out
}
