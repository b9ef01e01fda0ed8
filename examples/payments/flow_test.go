package main

import (
	"io"
	"log"
	"strings"
	"testing"
	"testing/synctest"
)

var quiet = log.New(io.Discard, "", 0)

// Line 65 has to wait for line 1, line 66 for line 2, and so on; malformed lines are done at once.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newLineReader(strings.NewReader("oops\n" + strings.Repeat(good+"\n", 3*window)))
		jobs := make(chan *job)
		go func() {
			if n, err := feed(t.Context(), src, jobs, quiet); n != 1 || err != nil {
				t.Errorf("feed: %d malformed, %v", n, err)
			}
			close(jobs)
		}()
		var inFlight []*job
		collect := func() { // what can be handed out now
			for {
				synctest.Wait()
				select {
				case j, ok := <-jobs:
					if !ok {
						return
					}
					inFlight = append(inFlight, j)
					continue
				default:
				}
				return
			}
		}
		handedOut := func(want int) {
			t.Helper()
			collect()
			if have := inFlight[len(inFlight)-1].line; have != want {
				t.Errorf("the last line in flight is %d, want %d", have, want)
			}
		}
		handedOut(1 + window) // line 1 was malformed
		close(inFlight[1].done)
		handedOut(1 + window) // line 3 is done, but line 2 is not
		close(inFlight[0].done)
		handedOut(3 + window)
		for i := 2; i < len(inFlight); i++ {
			close(inFlight[i].done)
			collect()
		}
		handedOut(1 + 3*window)
	})
}

// A worker that is alone between effect and COMMIT is let go, since the others may be waiting for its rows.
func TestGateAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &killGate{after: 1, log: quiet}
		g.beforeCommit(t.Context(), 1) // not yet
		g.committed()
		for line := 2; line < 5; line++ {
			g.beforeCommit(t.Context(), line)
		}
		if len(g.here) != 0 {
			t.Errorf("lines %v are still held", g.here)
		}
	})
}
