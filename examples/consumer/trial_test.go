package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/examples/internal/scratchtest"
)

var (
	killedLine = regexp.MustCompile(`killed +(\d+) replicas between their effects and COMMIT`)
	logLine    = regexp.MustCompile(`log +(\d+) events, of which (\d+) are applied and 0 are left; (\d+) effects`)
)

// Two replicas, SIGKILL at random, appenders that go on: the effects are the log, each event once and in order.
func TestTrial(t *testing.T) {
	t.Parallel()
	out, _ := consumerRun(t, 0, "trial", "-database", scratchtest.New(t), "-kills", "12", "-events", "800")
	if m := killedLine.FindStringSubmatch(out); m == nil || m[1] != "12" {
		t.Errorf("not killed 12 times inside a transaction:\n%s", out)
	}
	m := logLine.FindStringSubmatch(out)
	if m == nil || m[1] != m[2] || m[1] != m[3] {
		t.Fatalf("effects are not the log:\n%s", out)
	}
	if events, err := strconv.Atoi(m[1]); err != nil || events < 800 {
		t.Errorf("%s events, want at least 800", m[1])
	}
	if have, want := strings.Count(out, "\nok "), 7; have != want {
		t.Errorf("%d checks hold, want %d:\n%s", have, want, out)
	}
}

// The same trial catches a cursor that is committed apart from the effects.
func TestTrialCatchesACursorApart(t *testing.T) {
	t.Parallel()
	out, stderr := consumerRun(t, 1, "trial", "-database", scratchtest.New(t), "-cursor-apart", "-kills", "4", "-events", "1500")
	if !strings.Contains(out, "FAILED  no event is applied twice: ") {
		t.Errorf("doubles were not found:\n%s%s", out, stderr)
	}
}
