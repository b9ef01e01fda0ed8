package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/queenkv/queenkv/sweeper"
)

func TestStatusOfOnce(t *testing.T) {
	t.Parallel()
	for end, want := range map[sweeper.End]int{
		sweeper.Drained: 0, sweeper.OutOfTime: 3, sweeper.OutOfRows: 3, sweeper.Interrupted: 3,
	} {
		got := exitOK
		var e *statusError
		if errors.As(statusOf(sweeper.Result{End: end}), &e) {
			got = e.status
		}
		if got != want {
			t.Errorf("%s: status %d, want %d", end, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]sweeper.Result{
		"drained: deleted 5 rows in 1s, 2 steps; measured 1 tenants": {End: sweeper.Drained, Deleted: 5, Steps: 2, Took: time.Second, Tenants: 1, Measured: true},
		"drained: deleted 0 rows in 1s, 2 steps; 3 expired rows left, the oldest for 1m0s, all held by other transactions; measured 0 tenants, not all": {
			End: sweeper.Drained, Steps: 2, Took: time.Second, Left: 3, Lag: time.Minute},
		"out of time: deleted 5 rows in 1s, 2 steps; at least 3 expired rows left, the oldest for 1m0s; measured 1 tenants": {
			End: sweeper.OutOfTime, Deleted: 5, Steps: 2, Took: time.Second, Left: 3, Capped: true, Lag: time.Minute, Tenants: 1, Measured: true},
	} {
		if got := sentence(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Elsewhere than on a terminal there is a plain line each ten seconds; on one, a line that changes and goes.
func TestProgress(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := newProgress(&b)
	p.step(sweeper.Step{Deleted: 10, Allowed: 10})
	if b.Len() != 0 {
		t.Errorf("at once: %q", b.String())
	}
	p.shown, p.began = p.shown.Add(-10*time.Second), p.began.Add(-10*time.Second)
	p.step(sweeper.Step{Deleted: 90, Allowed: 100, Unpruned: 7, Capped: true})
	if got, want := b.String(), "deleted 100 rows in 10s, 10 rows/s, batch 100, at least 7 left\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.Reset()
	p.terminal, p.width = true, 20
	p.shown = p.shown.Add(-time.Second)
	p.step(sweeper.Step{Deleted: 1, Allowed: 100})
	p.line("trying again")
	p.end()
	if got, want := b.String(), "\rdeleted 101 rows in\x1b[K\r\x1b[Ktrying again\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	(*progress)(nil).end()
}
