package sweeper

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// a table with rows that expired: a pass is as long as it takes.
func table(rows int, took time.Duration) (*fakeDB, *int) {
	d, left := &fakeDB{}, rows
	d.expire = func(n int, from string) (string, time.Duration, error) {
		deleted := min(n, left)
		left -= deleted
		next := ""
		if left > 0 {
			next = "A"
		}
		return stepJSON(deleted, from == "" && next == "", next), took, nil
	}
	return d, &left
}

func TestRunOnceDrains(t *testing.T) {
	t.Parallel()
	d, left := table(3500, 100*time.Millisecond)
	r, err := without(d, Options{}).RunOnce(t.Context())
	if err != nil || r.End != Drained || r.Deleted != 3500 || *left != 0 || !r.Measured || r.Tenants != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	// 1000, 1000, 1000, 500, and a pass from the beginning that finds nothing: no other may say done.
	if r.Steps != 5 || r.Took != 500*time.Millisecond {
		t.Errorf("%d steps in %s", r.Steps, r.Took)
	}
}

func TestRunOnceBudgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		opts    Options
		rows    int
		end     End
		deleted int64
	}{
		{"rows", Options{MaxRows: 1500}, 3500, OutOfRows, 1500},
		{"rows, just enough", Options{MaxRows: 3500}, 3500, Drained, 3500},
		{"time", Options{MaxTime: 250 * time.Millisecond}, 9000, OutOfTime, 3000},
		{"time, just enough", Options{MaxTime: 200 * time.Millisecond}, 2000, Drained, 2000},
		{"no rows", Options{MaxRows: 1, MaxTime: time.Second}, 0, Drained, 0},
	} {
		for _, every := range []time.Duration{0, -1} {
			d, left := table(c.rows, 100*time.Millisecond)
			look := d.expire
			d.expire = func(n int, from string) (string, time.Duration, error) {
				a, took, err := look(n, from)
				d.look = int64(*left)
				return a, took, err
			}
			opts := c.opts
			opts.UsageEvery = every
			r, err := without(d, opts).RunOnce(t.Context())
			if err != nil || r.End != c.end || r.Deleted != c.deleted || (r.Left > 0) != (c.end != Drained) {
				t.Errorf("%s: %+v, %v", c.name, r, err)
			}
			if c.opts.MaxRows > 0 && every == 0 && !r.Measured {
				t.Errorf("%s: there was time to measure: %+v", c.name, r)
			}
		}
	}
}

// A long drain doesn't keep tenants from being measured: in the second half they take turns.
func TestRunOnceMeasuresInTheSecondHalf(t *testing.T) {
	t.Parallel()
	d, _ := table(1_000_000, 100*time.Millisecond)
	d.look = 1
	r, err := without(d, Options{MaxTime: time.Second}).RunOnce(t.Context())
	if err != nil || r.End != OutOfTime || !r.Measured || r.Steps != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Measuring goes on after the tenant that was measured last, comes round, and ends where it began: a budget that is too short
// for all tenants reaches each of them in the end.
func TestRunOnceMeasuresAllInTheEnd(t *testing.T) {
	t.Parallel()
	next := map[string]string{"": "1", "1": "2", "2": "3", "3": ""}
	for last, want := range map[string][]string{
		"":  {"usage ", "usage 1", "usage 2", "usage 3"},
		"2": {"usage 2", "usage 3", "usage ", "usage 1"},
		"3": {"usage 3", "usage ", "usage 1", "usage 2"},
	} {
		d, _ := table(0, 0)
		d.last = last
		d.usage = func(after string) (string, error) {
			answer := `{"tenants": 1, "done": true, "nextAfter": null}`
			if n := next[after]; n != "" {
				answer = `{"tenants": 1, "done": false, "nextAfter": "` + n + `"}`
			}
			return answer, nil
		}
		r, err := without(d, Options{}).RunOnce(t.Context())
		if err != nil || !r.Measured || !slices.Equal(d.calls[1:], want) {
			t.Errorf("after %q: %+v, %v\n%q, want %q", last, r, err, d.calls[1:], want)
		}
	}
}

func TestRunOnceErrors(t *testing.T) {
	t.Parallel()
	lost := pgError("57P01", "terminating connection due to administrator command")
	for _, c := range []struct {
		name  string
		opts  Options
		fault error
		times int
		steps int // until it ends
		fails bool
	}{
		{"passes", Options{}, lost, 5, 7, false},
		{"stays", Options{}, lost, 99, 6, true},
		{"no retries", Options{Retries: -1}, lost, 1, 1, true},
		{"lasting", Options{}, pgError("42501", "permission denied"), 99, 1, true},
		{"the budget would run out asleep", Options{MaxTime: 600 * time.Millisecond}, lost, 99, 2, true},
	} {
		d, _ := table(10, 0)
		good := d.expire
		d.expire = func(n int, from string) (string, time.Duration, error) {
			if d.expired() <= c.times {
				return "", 0, c.fault
			}
			return good(n, from)
		}
		r, err := without(d, c.opts).RunOnce(t.Context())
		if (err != nil) != c.fails || (r.End == Failed) != c.fails || (err != nil && !errors.Is(err, c.fault)) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		if want := c.steps; c.fails && d.expired() != want {
			t.Errorf("%s: %d steps, want %d", c.name, d.expired(), want)
		}
	}
}

func TestRunOnceInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d, left := table(5000, 0)
	good := d.expire
	d.expire = func(n int, from string) (string, time.Duration, error) {
		if d.expired() == 2 {
			cancel()
		}
		return good(n, from)
	}
	r, err := without(d, Options{FirstBatch: 1000, MaxBatch: 1000}).RunOnce(ctx)
	if err != nil || r.End != Interrupted || r.Deleted != 2000 || *left != 3000 {
		t.Errorf("%+v, %v, %d left: the step under way counts", r, err, *left)
	}
}
