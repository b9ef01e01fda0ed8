package main

import (
	"context"
	"log"
	"os"
	"slices"
	"sync"
	"time"
)

// A killGate kills the process, by a signal that nobody can catch, while two workers are between their effect and its COMMIT.
//
// From the n-th effect on, a worker that comes to its COMMIT waits for a second one; when that comes, neither commits. The
// one that waits holds its customer's rows, and the others may all need those: after patience it commits and the next pair
// tries. So the kill comes with two workers there, or, when there never are two, not at all.
type killGate struct {
	after int // effects committed by this process
	log   *log.Logger

	mu      sync.Mutex
	effects int
	here    []int // lines of the workers that are between effect and COMMIT
}

const patience = 100 * time.Millisecond

func (g *killGate) committed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.effects++
}

// beforeCommit returns when the worker may commit, if ever.
func (g *killGate) beforeCommit(ctx context.Context, line int) {
	if !g.arrive(line) {
		return
	}
	select {
	case <-time.After(patience):
	case <-ctx.Done():
	}
	g.mu.Lock() // held by the second worker, when it is there, until the end
	defer g.mu.Unlock()
	g.here = slices.DeleteFunc(g.here, func(l int) bool { return l == line })
}

func (g *killGate) arrive(line int) (wait bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.effects < g.after {
		return false
	}
	g.here = append(g.here, line)
	if len(g.here) < 2 {
		return true
	}
	g.log.Printf("killing this process: %d effects are committed, and the workers of lines %d and %d are between effect and COMMIT",
		g.effects, g.here[0], g.here[1])
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		g.log.Fatalf("kill: %v", err)
	}
	select {} // the signal is on its way; the lock stays held, so that nobody commits meanwhile
}
