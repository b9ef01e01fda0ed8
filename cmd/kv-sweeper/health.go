package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/queenkv/queenkv/sweeper"
)

// health answers the probes. /healthz asks whether to kill the process: it fails only when the loop has not moved at all, not
// when the database is gone, which a new process would not cure. /readyz asks whether it sweeps.
type health struct {
	stale, stuck time.Duration
	now          func() time.Time

	mu     sync.Mutex
	began  time.Time
	moved  time.Time // the last step, whether it succeeded or not
	swept  time.Time // the last that succeeded
	last   *sweeper.Error
	ending bool
}

// newHealth: stale is the age of a success that is too old; slowest is how long a turn of the loop may take with its pause.
func newHealth(stale, slowest time.Duration) *health {
	return &health{stale: stale, stuck: 2*slowest + time.Minute, now: time.Now, began: time.Now(), moved: time.Now()}
}

func (h *health) success() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moved, h.swept, h.last = h.now(), h.now(), nil
}

func (h *health) failure(e *sweeper.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moved = h.now()
	if e.Doing == "expire" {
		h.last = e
	}
}

func (h *health) stopping() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ending = true
}

func (h *health) healthz(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	still := h.now().Sub(h.moved)
	h.mu.Unlock()
	if still > h.stuck {
		http.Error(w, fmt.Sprintf("the loop has not moved for %s", still.Round(time.Second)), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (h *health) readyz(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	problem := ""
	switch {
	case h.ending:
		problem = "stopping"
	case h.last != nil:
		problem = lineOf(h.last)
	case h.swept.IsZero():
		problem = "no step has succeeded yet"
	case h.now().Sub(h.swept) > h.stale:
		problem = fmt.Sprintf("the last successful step was %s ago", h.now().Sub(h.swept).Round(time.Second))
	default:
		fmt.Fprintln(w, "ok")
		return
	}
	http.Error(w, problem, http.StatusServiceUnavailable)
}
