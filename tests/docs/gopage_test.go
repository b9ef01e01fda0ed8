package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// declares tells a block that stands at a file's top level from one of statements.
var declares = regexp.MustCompile(`^(var|func|type|const)\b`)

// TestGoPage compiles the Go blocks of docs/go.md as one program, and runs those of statements from the top, in one database.
// A text block right below says what a block prints; without one it must print nothing.
func TestGoPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/go.md"
	program, statements := goProgram(t, page)
	db := testdb.New(t, nil)
	db.Exec(t, `create table ledger (delivery text not null, cents bigint not null)`)
	out := goRun(t, program, "DATABASE_URL="+db.URL())
	parts := strings.Split(out, "\x00")[1:]
	if len(parts) != len(statements) {
		t.Fatalf("%d of %d blocks ran:\n%s", len(parts), len(statements), out)
	}
	for i, e := range statements {
		_, printed, _ := strings.Cut(parts[i], "\n")
		if printed != e.output {
			t.Errorf("%s:%d printed\n%s\nand the page says\n%s", page, e.line, printed, e.output)
		}
	}
}

// goProgram makes a program of a page's blocks. A fault in it is told at the page's line.
func goProgram(t *testing.T, page string) (program string, statements []example) {
	t.Helper()
	path, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := os.ReadFile("testdata/go_page.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	var code, run strings.Builder
	all := blocks(t, page)
	for i, b := range all {
		if b.Kind != "go" {
			continue
		}
		line := fmt.Sprintf("//line %s:%d\n", path, b.Line)
		if declares.MatchString(b.Text) {
			code.WriteString("\n" + line + b.Text)
			continue
		}
		e := example{line: b.Line, kind: "go"}
		if i+1 < len(all) && all[i+1].Adjoins && all[i+1].Kind == "text" {
			e.output = all[i+1].Text
		}
		name := fmt.Sprintf("block%d", len(statements))
		fmt.Fprintf(&run, "%s, ", name)
		fmt.Fprintf(&code, "\nfunc %s(ctx context.Context, pool *pgxpool.Pool, db *sql.DB) error {\n%s%s", name, line, b.Text)
		if !endsInReturn(b.Text) {
			code.WriteString("return nil\n")
		}
		code.WriteString("}\n")
		statements = append(statements, e)
	}
	if len(statements) == 0 {
		t.Fatalf("%s has no Go block of statements", page)
	}
	return strings.Replace(string(frame), "RUN", run.String(), 1) + code.String(), statements
}

// endsInReturn looks at the last statement that is not indented: behind a return, or a loop without end, nothing may follow.
func endsInReturn(block string) bool {
	last := ""
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "}") && strings.TrimSpace(line) != "" {
			last = line
		}
	}
	return strings.HasPrefix(last, "return") || last == "for {\n"
}

// goRun runs a program as a package of this module. Nothing is written into the source tree: an overlay shows the file to go.
func goRun(t *testing.T, program string, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "main.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "gopage", "main.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	for name, text := range map[string]string{file: program, overlayFile: string(overlay)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlayFile, "./gopage")
	run.Env = append(os.Environ(), env...)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	return string(out)
}
