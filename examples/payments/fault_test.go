package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/examples/internal/scratch"
)

// What can't work says why in one line, and the exit status is 1.
func TestFaults(t *testing.T) {
	t.Parallel()
	installed, empty := newDatabase(t, scratch.New), newDatabase(t, scratch.Empty)
	missing := filepath.Join(t.TempDir(), "missing.jsonl")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such file":      {[]string{"-database", installed, missing}, "no such file"},
		"a directory":       {[]string{"-database", installed, t.TempDir()}, "is a directory"},
		"no URL":            {[]string{"-database", "postgres://%zz", sampleFile}, "cannot parse"},
		"no server":         {[]string{"-database", "postgres://localhost:1/x", sampleFile}, "failed to connect"},
		"no such database":  {[]string{"-database", strings.Replace(installed, "kv_example_", "kv_gone_", 1), sampleFile}, "does not exist"},
		"no queen.kv":       {[]string{"-database", empty, sampleFile}, "install or migrate the queen.kv schema"},
		"a bad schema name": {[]string{"-database", installed, "-schema", "no-good", sampleFile}, "-schema"},
	} {
		_, stderr := payments(t, 1, c.args...)
		if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "payments: ") || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: want one line with %q, not\n%s", name, c.want, stderr)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"one FILE is needed":            {},
		"not defined: -oops":            {"-oops", "x"},
		"-workers must be from 1 to 64": {"-workers", "65", "x"},
		"-kill-after needs two workers": {"-workers", "1", "-kill-after", "3", "x"},
	} {
		if _, stderr := payments(t, 2, args...); !strings.Contains(stderr, want) {
			t.Errorf("%v: want %q, not\n%s", args, want, stderr)
		}
	}
}

// A delivery that can't be booked ends the run, with its line; what was booked stays, and the books stay consistent.
func TestAForeignKeyEndsTheRun(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, scratch.New)
	file, _ := head(t, 100)
	_, err := connect(t, url).Exec(t.Context(), `select queen.kv_apply_v1(
		'[{"op": "put", "ns": "payments.deliveries", "key": "evt_000050", "value": "not a marker", "forever": true}]')`)
	if err != nil {
		t.Fatal(err)
	}
	_, stderr := payments(t, 1, "-database", url, file)
	if !strings.Contains(stderr, "kv_once_foreign") || !strings.Contains(stderr, "payments: line ") {
		t.Errorf("want the line and the code, not\n%s", stderr)
	}
	r, _ := payments(t, 1, "-database", url, "-check-only", file)
	for _, c := range r.Checks {
		if c.OK != (c.Group == ofBooks) {
			t.Errorf("after the failure: %+v", c)
		}
	}
}

// Without two workers at their COMMIT there is no kill, and the run says so.
func TestNoKillAfterAll(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, scratch.New)
	file, _ := head(t, 20)
	if _, stderr := payments(t, 1, "-database", url, "-kill-after", "1000", file); !strings.Contains(stderr, "the file ended before") {
		t.Errorf("%s", stderr)
	}
}
