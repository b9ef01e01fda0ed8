package docs

import (
	"os"
	"strings"
	"testing"
)

// An example is a block of SQL and what the page says it prints.
type example struct {
	line   int // of the page, where the SQL begins
	sql    string
	kind   string // text, json, or empty when nothing is said
	output string
}

type block struct {
	line       int
	kind, text string
	adjoins    bool // only blank lines stand between this block and the one before
}

// blocks reads the fenced blocks of a page.
func blocks(t *testing.T, path string) []block {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	var inside, adjoins bool
	for i, line := range strings.Split(string(page), "\n") {
		kind, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !inside:
			out = append(out, block{line: i + 2, kind: kind, adjoins: adjoins})
			inside = true
		case isFence:
			inside, adjoins = false, true
		case inside:
			out[len(out)-1].text += line + "\n"
		case line != "":
			adjoins = false
		}
	}
	if inside {
		t.Fatalf("%s: the block that begins at line %d has no end", path, out[len(out)-1].line)
	}
	return out
}

func examples(t *testing.T, path string) []example {
	t.Helper()
	var out []example
	all := blocks(t, path)
	for i, b := range all {
		if b.kind != "sql" {
			continue
		}
		e := example{line: b.line, sql: b.text}
		if i+1 < len(all) && all[i+1].adjoins && (all[i+1].kind == "text" || all[i+1].kind == "json") {
			e.kind, e.output = all[i+1].kind, all[i+1].text
		}
		out = append(out, e)
	}
	return out
}
