package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/queenkv/queenkv/tests/page"
)

// A snippet is a block of code and what the page says it prints.
type snippet struct {
	line         int
	code, output string
}

func snippetsOf(blocks []page.Block, fence string) []snippet {
	var out []snippet
	for i, b := range blocks {
		if b.Kind != fence {
			continue
		}
		s := snippet{line: b.Line, code: b.Text}
		if i+1 < len(blocks) && blocks[i+1].Adjoins && blocks[i+1].Kind == "text" {
			s.output = blocks[i+1].Text
		}
		out = append(out, s)
	}
	return out
}

// mark is printed before each snippet, with its place in the list.
const mark = "=== snippet "

// program joins the snippets.
func (l language) program(list []snippet) string {
	var b strings.Builder
	b.WriteString(l.begin)
	for i, s := range list {
		fmt.Fprintf(&b, l.echo+"\n%s", fmt.Sprint(mark, i), s.code)
	}
	return b.String()
}

// split gives what each snippet printed; nil from the one on that was not reached.
func split(printed string, n int) []*string {
	parts := make([]*string, n)
	for i := range parts {
		_, rest, found := strings.Cut(printed, fmt.Sprint(mark, i, "\n"))
		if !found {
			break
		}
		text, _, _ := strings.Cut(rest, fmt.Sprint(mark, i+1, "\n"))
		parts[i] = &text
	}
	return parts
}

// compare tells all snippets that did not print what the page says.
func compare(l language, list []snippet, printed, path string) error {
	var failures []error
	numbers := page.NewBinder()
	for i, text := range split(printed, len(list)) {
		where := fmt.Sprintf("%s:%d", path, list[i].line)
		if text == nil {
			failures = append(failures, fmt.Errorf("%s: it was not reached", where))
			continue
		}
		if err := numbers.Same(l.flat(list[i].output), l.flat(*text)); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", where, err))
		}
	}
	return errors.Join(failures...)
}

// trimmed leaves out blanks at the end of lines and of the text.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// flatTables is for psql: page.FlatText without what the pages leave out of an error, which are its place in the server's
// source and the DETAIL of one that is not the store's.
func flatTables(text string) string {
	var kept []string
	ours := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "ERROR:") {
			ours = strings.Contains(line, ": kv_")
		}
		if strings.HasPrefix(line, "LOCATION:") || strings.HasPrefix(line, "DETAIL:") && !ours {
			continue
		}
		kept = append(kept, line)
	}
	return trimmed(page.FlatText(strings.Join(kept, "\n")))
}
