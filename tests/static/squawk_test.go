package static

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// TestSquawk has squawk (npm install -g squawk-cli) look through the installation for statements that are unsafe on a live
// database. Left out are:
//
//	require-statement-timeout   the installer's own setting, and his to choose
//	prefer-bigint-over-smallint shard is 0 to 63 for good
func TestSquawk(t *testing.T) {
	t.Parallel()
	squawk, err := exec.LookPath("squawk")
	if err != nil {
		testdb.NotRun(t, "squawk is not installed")
	}
	lint := func(file string) (string, error) {
		out, err := exec.Command(squawk, "--exclude=require-statement-timeout,prefer-bigint-over-smallint", file).CombinedOutput()
		return string(out), err
	}
	if out, err := lint(filepath.Join("..", "..", "dist", "queen_kv.sql")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}

	unsafe := filepath.Join(t.TempDir(), "unsafe.sql")
	if err := os.WriteFile(unsafe, []byte("alter table queen.kv add constraint c check (version > 1);\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := lint(unsafe)
	var failed *exec.ExitError
	if !errors.As(err, &failed) || !strings.Contains(out, "constraint-missing-not-valid") {
		t.Errorf("a check that locks the table while it reads all of it is not seen: %v\n%s", err, out)
	}
}
