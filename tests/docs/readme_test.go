package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// TestReadmeGo compiles the README's Go example as a package, and a program that calls it twice
// with one key. Nothing is written into the source tree: an overlay shows the files to go.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	var code []string
	for _, b := range blocks(t, "../../README.md") {
		if b.Kind == "go" && strings.HasPrefix(b.Text, "package ") {
			code = append(code, b.Text)
		}
	}
	if len(code) != 1 {
		t.Fatalf("the README has %d Go examples that are whole files, not 1", len(code))
	}

	dir := t.TempDir()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	caller, err := os.ReadFile("testdata/readme_caller.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name, text := range map[string]string{"readme/main.go": string(caller), "readme/ledger/ledger.go": code[0]} {
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}

	db := testdb.New(t, nil)
	db.Exec(t, "create table ledger (delivery text not null, cents bigint not null)")
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlayFile, "./readme")
	run.Env = append(os.Environ(), "DATABASE_URL="+db.URL())
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	// The first call books and the second one replays: one row.
	const want = "booked replayed=false\nbooked replayed=true\nrows: 1\n"
	if string(out) != want {
		t.Errorf("it printed\n%s\nnot\n%s", out, want)
	}
}
