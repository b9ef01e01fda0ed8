// Demo runs the main job of queen.kv for real, in a database of its own, and prints what came out.
//
//	cd tests && go run ./with-postgres -- sh -c 'cd ../examples && go run ./payments/demo'
//
// It installs the schema, and books the shipped deliveries four times, each time into fresh books: plainly; killed in the
// middle and run again; by two processes at once; and without Once. It fails when a figure is not the expected one, and
// also when the run without Once shows no double, since then the other runs would prove nothing. The database is dropped.
//
// KV_TEST_DATABASE_URL names the server, by a role with CREATEDB.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/queenkv/queenkv/examples/internal/scratch"
)

const program = "github.com/queenkv/queenkv/examples/payments"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := demo(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) (err error) {
	start := time.Now()
	maintenance := os.Getenv("KV_TEST_DATABASE_URL")
	if maintenance == "" {
		return errors.New("no database: run make demo, or set KV_TEST_DATABASE_URL (a role with CREATEDB)")
	}
	dir, err := os.MkdirTemp("", "queenkv-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &stage{binary: filepath.Join(dir, "payments")}
	if s.file, err = build(ctx, s.binary); err != nil {
		return err
	}
	db, err := scratch.New(ctx, maintenance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Drop()) }()
	s.url = db.URL

	for _, act := range []func(context.Context) error{s.plainly, s.killedAndResumed, s.twoProcesses, s.withoutOnce} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	if err := s.print(os.Stdout); err != nil {
		return err
	}
	if len(s.failures) > 0 {
		return fmt.Errorf("not as expected:\n  %s", strings.Join(s.failures, "\n  "))
	}
	fmt.Printf("\nEvery figure is as expected (%d expectations, %.0f seconds).\n", s.expectations, time.Since(start).Seconds())
	return nil
}

// build makes the program and gives the path of the shipped deliveries.
func build(ctx context.Context, binary string) (file string, err error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, program)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build %s: %w", program, err)
	}
	dir, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", program).Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", program, err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "testdata", "deliveries.jsonl"), nil
}
