package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/page"
)

const examplePage = "# A page\n\n```js\none()\n```\n```text\n1\n```\n\nWords.\n\n```js\nsilent()\n```\n\nMore words.\n\n" +
	"```text\nof nobody\n```\n\n```python\nother()\n```\n\n```js\ntwo()\n```\n```text\nversion=7 2026-01-01T00:00:00Z\n```\n"

func exampleSnippets(t *testing.T) (language, []snippet) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(examplePage), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks, err := page.Blocks(path)
	if err != nil {
		t.Fatal(err)
	}
	return language{echo: "say(%s)", flat: trimmed}, snippetsOf(blocks, "js")
}

func TestProgram(t *testing.T) {
	t.Parallel()
	l, list := exampleSnippets(t)
	const want = "say(=== snippet 0)\none()\nsay(=== snippet 1)\nsilent()\nsay(=== snippet 2)\ntwo()\n"
	if have := l.program(list); have != want {
		t.Errorf("the program is\n%s\nwant\n%s", have, want)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	l, list := exampleSnippets(t)
	const first, second, third = "=== snippet 0\n1\n", "=== snippet 1\n", "=== snippet 2\nversion=9 2031-01-01T00:00:00Z\n"
	tests := []struct {
		name, printed string
		wrong         []string // what the error must tell of, each by its line in the page; empty: there is none
	}{
		{"as the page says, but for what varies", first + second + strings.Replace(third, "2031", "2027", 1), nil},
		{"a time that does not vary", first + second + third, []string{":27:"}},
		{"another output", "=== snippet 0\n2\n" + second + "=== snippet 2\nversion=9 2027-01-01T00:00:00Z\n", []string{":4:"}},
		{"output that the page does not show", first + second + "noise\n" + "=== snippet 2\nversion=9 2027-01-01T00:00:00Z\n", []string{":13:"}},
		{"a program that died", first + second[:0] + "Error: boom\n", []string{":4:", ":13: it was not reached", ":27: it was not reached"}},
		{"nothing at all", "", []string{":4: it was not reached", ":13: it was not reached", ":27: it was not reached"}},
	}
	for _, test := range tests {
		err := compare(l, list, test.printed, "page.md")
		if (err != nil) != (len(test.wrong) > 0) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		for _, where := range test.wrong {
			if !strings.Contains(err.Error(), "page.md"+where) {
				t.Errorf("%s: %v; want %s", test.name, err, where)
			}
		}
	}
}

func TestFlatTables(t *testing.T) {
	t.Parallel()
	const ours = "ERROR:  22023: kv_bad_ttl\nDETAIL:  {\"index\": 0}\n"
	if have, want := flatTables(ours+"LOCATION:  exec_stmt_raise, pl_exec.c:3890\n"), trimmed(ours); have != want {
		t.Errorf("%q, want %q", have, want)
	}
	if have, want := flatTables("ERROR:  23514: new row\nDETAIL:  Failing row contains (...)\n"), "ERROR:  23514: new row"; have != want {
		t.Errorf("%q, want %q", have, want)
	}
}
