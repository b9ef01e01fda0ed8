package sweeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// runFor runs the loop for some time of the fake clock.
func runFor(t *testing.T, s *Sweeper, d *fakeDB, long time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.clock.until, d.clock.cancel = d.clock.now.Add(long), cancel
	if err := s.Run(ctx); err != nil {
		t.Fatalf("Run ended with %v", err)
	}
}

// A pass goes on from nextFrom; one of several steps is followed by another from the beginning at once; a done one by a pause.
func TestRunPasses(t *testing.T) {
	t.Parallel()
	answers := []string{
		stepJSON(1000, false, "A"), stepJSON(1000, false, "B"), stepJSON(10, false, ""), // a pass of three steps
		stepJSON(0, true, ""),                        // the next one, at once
		stepJSON(5, true, ""), stepJSON(0, true, ""), // after pauses
	}
	d := &fakeDB{}
	d.expire = func(int, string) (string, time.Duration, error) {
		if len(answers) == 0 {
			return stepJSON(0, true, ""), 0, nil
		}
		a := answers[0]
		answers = answers[1:]
		return a, 0, nil
	}
	s := without(d, Options{UsageEvery: -1, FirstBatch: 10_000})
	runFor(t, s, d, 13*time.Second)
	var from []string
	for _, c := range d.calls {
		from = append(from, strings.TrimPrefix(c, "expire 10000 "))
	}
	if want := []string{"", "A", "B", "", "", "", "", ""}; !slices.Equal(from, want) {
		t.Errorf("steps began at %q, want %q", from, want)
	}
	// 1 s; then rows were found, so 1 s again, and then it doubles.
	if want := []time.Duration{1, 1, 2, 4, 8}; !slices.Equal(seconds(d.clock.slept), want) {
		t.Errorf("pauses: %v, want %v", d.clock.slept, want)
	}
	for _, timeout := range d.timeouts {
		if timeout != "5000" {
			t.Errorf("statement_timeout %s, want 5000", timeout)
		}
	}
	if d.committed != len(d.calls) {
		t.Errorf("%d of %d steps were committed", d.committed, len(d.calls))
	}
}

func seconds(all []time.Duration) (s []time.Duration) {
	for _, d := range all {
		s = append(s, d/time.Second)
	}
	return s
}

func TestRunIdlePauseHasABound(t *testing.T) {
	t.Parallel()
	d := &fakeDB{expire: func(int, string) (string, time.Duration, error) { return stepJSON(0, true, ""), 0, nil }}
	runFor(t, without(d, Options{UsageEvery: -1}), d, 3*time.Minute)
	if longest := slices.Max(d.clock.slept); longest != 30*time.Second {
		t.Errorf("the longest pause is %s, want 30s", longest)
	}
}

// Rows that are all held by others are no reason to spin.
func TestRunAllHeld(t *testing.T) {
	t.Parallel()
	d := &fakeDB{}
	d.expire = func(_ int, from string) (string, time.Duration, error) {
		if from == "" {
			return stepJSON(0, false, "A"), 0, nil
		}
		return stepJSON(0, false, ""), 0, nil
	}
	runFor(t, without(d, Options{UsageEvery: -1}), d, time.Minute)
	if n := d.expired(); n > 20 {
		t.Errorf("%d steps in a minute", n)
	}
}

func TestRunErrors(t *testing.T) {
	t.Parallel()
	var told []Class
	d := &fakeDB{}
	faults := []error{
		pgError("57014", "canceling statement due to statement timeout"), pgError("57P01", "terminating connection"),
		pgError("57014", "canceling statement due to statement timeout"), nil,
	}
	var sizes []int
	d.expire = func(rows int, _ string) (string, time.Duration, error) {
		sizes = append(sizes, rows)
		if len(faults) == 0 {
			return stepJSON(0, true, ""), 0, nil
		}
		err := faults[0]
		faults = faults[1:]
		return stepJSON(0, true, ""), 0, err
	}
	s := without(d, Options{UsageEvery: -1, Hooks: Hooks{Error: func(e *Error) { told = append(told, e.Class) }}})
	runFor(t, s, d, 2500*time.Millisecond)
	if want := []int{1000, 500, 500, 250}; !slices.Equal(sizes[:4], want) {
		t.Errorf("batches %v, want %v: a timeout halves, and nothing else does", sizes, want)
	}
	if want := []Class{Timeout, Connection, Timeout}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if want := []time.Duration{250, 500, 1000}; !slices.Equal(milliseconds(d.clock.slept[:3]), want) {
		t.Errorf("pauses %v, want %v ms", d.clock.slept, want)
	}
}

// However Run is kept busy, it spends no more than its share of the time on it; but it rests only where that can be afforded.
func TestRunDutyCycle(t *testing.T) {
	t.Parallel()
	const second, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		name        string
		cycle       float64
		step        time.Duration
		answer      func(now time.Duration) (string, error) // now counts from the beginning
		least, most float64                                 // of the time in steps
	}{
		{"a backlog that shrinks", 0, 20 * ms, func(now time.Duration) (string, error) { return laggingJSON(time.Hour - now), nil }, 0.09, 0.11},
		{"half of the time", 0.5, 20 * ms, func(now time.Duration) (string, error) { return laggingJSON(time.Hour - now), nil }, 0.49, 0.51},
		{"never rests", 1, 20 * ms, func(now time.Duration) (string, error) { return laggingJSON(time.Hour - now), nil }, 1, 1},
		{"a backlog that ages as time goes by", 0, 20 * ms, func(now time.Duration) (string, error) { return laggingJSON(now), nil }, 0.97, 1},
		{"a backlog as old as before", 0, 20 * ms, func(time.Duration) (string, error) { return laggingJSON(second), nil }, 0.97, 1},
		{"drained after a long look", 0.25, 4 * second, func(time.Duration) (string, error) { return stepJSON(10, true, ""), nil }, 0.23, 0.26},
		{"timeouts", 0.25, 5 * second, func(time.Duration) (string, error) {
			return "", pgError("57014", "canceling statement due to statement timeout")
		}, 0.23, 0.26},
		{"no longer than the longest pause", 0.01, 4 * second, func(time.Duration) (string, error) { return stepJSON(10, true, ""), nil }, 0.11, 0.13}, // 4 s of 34
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := &fakeDB{clock: newFakeClock()}
			began := d.clock.now
			var worked time.Duration
			d.expire = func(int, string) (string, time.Duration, error) {
				answer, err := c.answer(d.clock.now.Sub(began))
				worked += c.step
				return answer, c.step, err
			}
			runFor(t, without(d, Options{UsageEvery: -1, DutyCycle: c.cycle, MaxRetry: time.Second}), d, 10*time.Minute)
			if share := worked.Seconds() / d.clock.now.Sub(began).Seconds(); share < c.least || share > c.most {
				t.Errorf("in steps for %.3f of the time, want from %v to %v", share, c.least, c.most)
			}
		})
	}
}

// Rests are few and long: half a second of steps, and then nine times as long.
func TestRunRestsAfterBursts(t *testing.T) {
	t.Parallel()
	d := &fakeDB{clock: newFakeClock()}
	began := d.clock.now
	d.expire = func(int, string) (string, time.Duration, error) {
		return laggingJSON(time.Hour - d.clock.now.Sub(began)), 20 * time.Millisecond, nil
	}
	runFor(t, without(d, Options{UsageEvery: -1}), d, 14*time.Second)
	if want := []time.Duration{4500, 4500, 4500}; !slices.Equal(milliseconds(d.clock.slept), want) || d.expired() != 3*25 {
		t.Errorf("rests %v after %d steps, want %v ms after 75 steps of 20 ms", d.clock.slept, d.expired(), want)
	}
}

func milliseconds(all []time.Duration) (s []time.Duration) {
	for _, d := range all {
		s = append(s, d/time.Millisecond)
	}
	return s
}

// Measuring has a clock of its own, goes on from nextAfter, takes turns with a drain, and its errors keep nobody from deleting.
func TestRunUsage(t *testing.T) {
	t.Parallel()
	d, measured := &fakeDB{}, 0
	left := 6
	d.expire = func(int, string) (string, time.Duration, error) {
		if left--; left > 0 {
			return stepJSON(1000, false, "A"), 10 * time.Millisecond, nil
		}
		return stepJSON(0, true, ""), 10 * time.Millisecond, nil
	}
	fail := true
	d.usage = func(after string) (string, error) {
		if after == "" {
			return `{"tenants": 1, "done": false, "nextAfter": "T"}`, nil
		}
		if fail {
			fail = false
			return "", pgError("57014", "canceling statement")
		}
		return measuredJSON, nil
	}
	s := without(d, Options{UsageEvery: time.Minute, Hooks: Hooks{Measured: func() { measured++ }}})
	runFor(t, s, d, 90*time.Second)
	if len(d.calls) < 4 || d.calls[0] != "expire 1000 " || d.calls[1] != "usage " || !strings.HasPrefix(d.calls[2], "expire") ||
		d.calls[3] != "usage T" {
		t.Errorf("no turns: %q", d.calls[:min(6, len(d.calls))])
	}
	if measured != 2 {
		t.Errorf("measured %d times in 90 seconds, once a minute", measured)
	}
	if !slices.Contains(d.calls[5:], "usage T") {
		t.Errorf("the step that failed was not tried again: %q", d.calls)
	}
}

// The context ends in the middle of a drain: no step begins after that, Run says nil, and nobody is told of an error.
func TestRunStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := &fakeDB{}
	d.expire = func(int, string) (string, time.Duration, error) {
		if d.expired() == 3 {
			cancel()
			return "", 0, pgError("57014", "canceling statement due to user request")
		}
		return stepJSON(1000, false, "A"), 0, nil
	}
	s := without(d, Options{UsageEvery: -1, Hooks: Hooks{Error: func(e *Error) { t.Errorf("told %v", e) }}})
	if err := s.Run(ctx); err != nil || d.expired() != 3 {
		t.Errorf("%v after %d steps, want nil after 3", err, d.expired())
	}
}

// An answer of another shape is an error like all others.
func TestRunOddAnswers(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "null", "[]", `{"deleted": "many"}`, `{"nextFrom": 7}`} {
		d := &fakeDB{expire: func(int, string) (string, time.Duration, error) { return answer, 0, nil }}
		runFor(t, without(d, Options{UsageEvery: -1}), d, time.Minute)
		if n := d.expired(); n < 2 || n > 20 {
			t.Errorf("%q: %d steps in a minute", answer, n)
		}
	}
}

func TestErrorIsOneLine(t *testing.T) {
	t.Parallel()
	cause := pgError("42501", "permission denied\nfor schema queen")
	err := errorOf("check", cause)
	if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "kv_grant_v1") || !errors.Is(err, cause) {
		t.Errorf("%q", err)
	}
	if !errors.Is(errorOf("check", err), err) || errorOf("check", nil) != nil || ClassOf(nil) != "" {
		t.Error("wrapped twice, or nil is something")
	}
}
