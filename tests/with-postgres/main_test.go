package main_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// program is with-postgres, told to start a cluster in a temporary folder of the test's.
func program(t *testing.T, script string) (cmd *exec.Cmd, folder string) {
	t.Helper()
	bin := testdb.PostgresBin(t)
	path := filepath.Join(t.TempDir(), "with-postgres")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	// Not t.TempDir: the server's user must be able to pass through it.
	folder, err := os.MkdirTemp("", "kv-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), path, "-pg-bin", bin, "--", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "KV_TEST_DATABASE_URL=", "TMPDIR="+folder)
	return cmd, folder
}

func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("error %v, want an exit status", err)
	}
	return exit.ExitCode()
}

func nothingLeft(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStatusAndLastLine(t *testing.T) {
	t.Parallel()
	cmd, folder := program(t, `echo "$KV_TEST_DATABASE_URL"; echo "TestX: why" >>"$KV_TEST_NOT_RUN"; exit 7`)
	out, err := cmd.Output()
	if got := status(t, err); got != 7 {
		t.Errorf("status %d, want the command's 7", got)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if !strings.HasPrefix(lines[0], "postgres://") {
		t.Errorf("the command's URL is %q", lines[0])
	}
	if last := lines[len(lines)-1]; last != "not run: 1: TestX: why" {
		t.Errorf("the last line is %q", last)
	}
	nothingLeft(t, folder)
}

func TestSignalReachesTheCommandAndCleansUp(t *testing.T) {
	t.Parallel()
	cmd, folder := program(t, `trap 'echo signalled; exit 3' TERM; echo started; sleep 300 & wait`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "started" {
		t.Fatalf("the command printed %q", lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "signalled" {
		t.Errorf("the command printed %q, want signalled", lines.Text())
	}
	if !lines.Scan() || lines.Text() != "not run: nothing" {
		t.Errorf("the last line is %q", lines.Text())
	}
	if got := status(t, cmd.Wait()); got != 3 {
		t.Errorf("status %d, want the command's 3", got)
	}
	nothingLeft(t, folder)
}
