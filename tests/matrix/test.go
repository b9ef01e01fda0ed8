package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/queenkv/queenkv/tests/cluster"
)

// counts are of tests, not of subtests.
type counts struct{ passed, failed, skipped int }

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// test runs the packages on a server of these binaries, and prints the output of what fails.
func test(ctx context.Context, b cluster.Binaries) (counts, error) {
	args := append([]string{"-pg-bin", b.Dir, "--", "go", "test", "-count=1", "-json"}, packages...)
	cmd := exec.CommandContext(ctx, "../bin/with-postgres", args...)
	cmd.Env = append(os.Environ(), "KV_TEST_DATABASE_URL=", "KV_TEST_POSTGRES_BIN=") // a server of these binaries, and no other
	cmd.Stderr = os.Stderr
	// with-postgres passes it on, and cleans up.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return counts{}, err
	}
	if err := cmd.Start(); err != nil {
		return counts{}, err
	}
	c, readErr := count(out, os.Stdout)
	if readErr != nil { // so that the program can end
		_, _ = io.Copy(io.Discard, out)
	}
	err = errors.Join(readErr, cmd.Wait())
	if c.failed > 0 && readErr == nil {
		err = nil // that is why
	}
	return c, err
}

// count reads go test's events, and shows the output of tests and packages that fail, and what is no event: with-postgres has
// the last line.
func count(events io.Reader, show io.Writer) (c counts, err error) {
	output := map[string]string{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return c, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(show, "%s", line)
			continue
		}
		name := e.Package + " " + e.Test
		top := e.Test != "" && !strings.Contains(e.Test, "/")
		switch e.Action {
		case "output", "build-output":
			output[name] += e.Output
			continue
		case "pass":
			if top {
				c.passed++
			}
		case "skip":
			if top {
				c.skipped++
			}
		case "fail", "build-fail":
			if top || e.Test == "" && c.failed == 0 { // a package can fail without a test
				c.failed++
			}
			fmt.Fprint(show, output[name])
		}
		delete(output, name)
	}
}
