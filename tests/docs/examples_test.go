package docs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/page"
	"github.com/queenkv/queenkv/tests/testdb"
)

const roleInPages = "app_role"

func TestExamples(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, path := range append(pages, "../../README.md") {
		list := examples(t, path)
		if len(list) == 0 {
			continue
		}
		ran += len(list)
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			play(t, path, list)
		})
	}
	if ran == 0 {
		t.Fatal("no example was found")
	}
}

// play runs a page's examples. It goes on after one that differs, so that a run tells them all.
func play(t *testing.T, path string, list []example) {
	db := testdb.New(t, nil)
	role := db.Role(t)
	s := &session{conn: db.Conn(t), vars: map[string]string{}}
	if _, err := s.exec(t.Context(), "set TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	numbers := page.NewBinder()
	for _, e := range list {
		answers, raised, err := s.run(t.Context(), strings.ReplaceAll(e.sql, roleInPages, role))
		if err != nil {
			t.Fatalf("%s:%d: %v", path, e.line, err)
		}
		got := strings.ReplaceAll(show(e.kind, answers, raised), role, roleInPages)
		switch e.kind {
		case "text":
			err = numbers.Same(page.FlatText(e.output), page.FlatText(got))
		case "json":
			err = sameJSON(numbers, e.output, answers)
		default:
			if raised == nil {
				continue
			}
		}
		if e.kind != "text" && raised != nil {
			err = errors.New("it failed")
		}
		if err != nil {
			t.Errorf("%s:%d: %v\n--- it printed\n%s", path, e.line, err, got)
		}
	}
}

func sameJSON(numbers *page.Binder, output string, answers []answer) error {
	if len(answers) != 1 || len(answers[0].rows) != 1 || len(answers[0].columns) != 1 {
		return fmt.Errorf("a json block is for one value, and %d statements gave rows", len(answers))
	}
	want, err := page.FlatJSON(output)
	if err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	actual, err := page.FlatJSON(answers[0].rows[0][0])
	if err != nil {
		return err
	}
	return numbers.Same(want, actual)
}
