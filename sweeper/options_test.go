package sweeper

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Every method refuses them, and sends nothing. A budget below zero, say, would else be no bound at all.
func TestOptionsBelowZero(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"StepTarget": {StepTarget: -1}, "StepTimeout": {StepTimeout: -1},
		"FirstBatch": {FirstBatch: -1}, "MinBatch": {MinBatch: -1}, "MaxBatch": {MaxBatch: -1},
		"DutyCycle": {DutyCycle: -1}, "MinIdle": {MinIdle: -1}, "MaxIdle": {MaxIdle: -1}, "MinRetry": {MinRetry: -1}, "MaxRetry": {MaxRetry: -1},
		"UsageTenants": {UsageTenants: -1}, "MaxTime": {MaxTime: -1}, "MaxRows": {MaxRows: -1},
	} {
		d := &fakeDB{}
		s := without(d, opts)
		r, once := s.RunOnce(t.Context())
		_, look := s.Backlog(t.Context(), 1)
		for method, err := range map[string]error{
			"Run": s.Run(t.Context()), "RunOnce": once, "Backlog": look, "Check": s.Check(t.Context()),
		} {
			if err == nil || ClassOf(err) != Config || !strings.Contains(err.Error(), "Options."+name+" is -1") || RemedyFor(err) == "" {
				t.Errorf("%s with %s: got %v", method, name, err)
			}
		}
		if r.End != Failed || len(d.calls) != 0 || len(d.timeouts) != 0 {
			t.Errorf("%s: %+v, sent %q", name, r, d.calls)
		}
	}
}

func TestOptionsDutyCycle(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]float64{0: 0.1, 0.001: 0.01, 0.5: 0.5, 1: 1, 7: 1} {
		if got := withDefaults(&Options{DutyCycle: given}).DutyCycle; got != want {
			t.Errorf("%v is taken for %v, want %v", given, got, want)
		}
	}
	if err := without(&fakeDB{}, Options{DutyCycle: math.NaN()}).Run(t.Context()); ClassOf(err) != Config {
		t.Errorf("not a number: %v", err)
	}
}

// Below zero these have a meaning, and the longest times and greatest numbers there are do no harm.
func TestOptionsAtTheirEnds(t *testing.T) {
	t.Parallel()
	const forever = time.Duration(math.MaxInt64)
	for name, opts := range map[string]Options{
		"below zero": {UsageEvery: -1, Retries: -1, StopGrace: -1},
		"greatest": {
			StepTarget: forever, StepTimeout: forever, FirstBatch: math.MaxInt, MinBatch: math.MaxInt, MaxBatch: math.MaxInt,
			DutyCycle: math.Inf(1), MinIdle: forever, MaxIdle: forever, MinRetry: forever, MaxRetry: forever, UsageEvery: forever, UsageTenants: math.MaxInt,
			MaxTime: forever, MaxRows: math.MaxInt64, Retries: math.MaxInt, StopGrace: forever,
		},
	} {
		d, left := table(3500, 100*time.Millisecond)
		r, err := without(d, opts).RunOnce(t.Context())
		if err != nil || r.End != Drained || *left != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if want := map[bool]string{true: "2147483647", false: "5000"}[name == "greatest"]; d.timeouts[0] != want {
			t.Errorf("%s: statement_timeout %s, want %s", name, d.timeouts[0], want) // PostgreSQL takes no more
		}
	}
}

// A test of a caller's own hook makes such errors.
func TestErrorWithoutACause(t *testing.T) {
	t.Parallel()
	e := &Error{Doing: "expire", Class: Timeout, Remedy: "wait"}
	if e.Error() != "sweeper: expire: wait" || e.Unwrap() != nil || ClassOf(e) != Timeout {
		t.Errorf("%q, %v", e.Error(), e.Unwrap())
	}
}
