// Package crash breaks everything around Once that can break, while clients book deliveries in a ledger through it, and then
// compares what they were told with what is there.
//
// The clients are goroutines and processes, each behind a proxy of its own (toxiproxy, with a toxic that knows COMMIT). The
// server and all its processes are killed with SIGKILL, client processes are killed, backends terminated and sockets cut, at
// any statement or at a chosen moment of a COMMIT. No constraint of the ledger keeps a delivery from being booked twice.
package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		os.Exit(beChild())
	}
	os.Exit(m.Run())
}

const (
	sizeVariable = "KV_PROOF_CRASHES"
	seedVariable = "KV_PROOF_CRASH_SEED"

	// shortSize is the number of faults where nobody asks for more: each of the deck once.
	shortSize = 10
)

// TestCrash: every acknowledged effect is there once, none twice, every marker has its effect and the reverse.
func TestCrash(t *testing.T) {
	t.Parallel()
	size := number(t, sizeVariable, shortSize)
	seed := number(t, seedVariable, int(time.Now().UnixNano()%1_000_000))
	t.Logf("%s=%d %s=%d chooses these faults again", sizeVariable, size, seedVariable, seed)

	c := newCluster(t)
	u := newDatabase(t, c, "crash")
	faults := plan(rand.New(rand.NewPCG(uint64(seed), 1)), size)
	l := newLoad(t, u, once, rand.New(rand.NewPCG(uint64(seed), 2)), children)
	inCommit, kinds := 0, map[kind]int{}
	began := time.Now()
	l.run(t, func() {
		for i, f := range faults {
			hit, err := f.strike(t.Context(), l, c)
			if err != nil {
				t.Errorf("fault %d: %s: %v", i, f, err)
				return
			}
			t.Logf("fault %d: %s; a COMMIT was under way: %t", i, f, hit)
			if f.at != anywhere && !hit {
				t.Errorf("fault %d: %s: no COMMIT went unanswered", i, f)
			}
			kinds[f.kind]++
			if hit {
				inCommit++
			}
		}
		if err := l.progress(t.Context(), 20); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	r, err := read(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	found := check(l.issued, l.acks, r)
	for _, f := range found {
		t.Error(f)
	}
	if floor := size / 10; inCommit < floor {
		t.Errorf("%d of %d faults fell between COMMIT sent and acknowledged, want %d or more", inCommit, size, floor)
	}
	report(t, fmt.Sprintf("crash: seed %d: %d faults (%d times the server killed -9, %d clients killed, %d backends terminated, %d sockets cut), "+
		"%d of them between COMMIT sent and acknowledged; %d deliveries, %d acknowledgements, %d replays; %d unknown outcomes run again, "+
		"%d of them replayed; %d findings; %.0f s",
		seed, len(faults), kinds[serverKilled], kinds[clientKilled], kinds[backendTerminated], kinds[socketCut],
		inCommit, len(r.ledger), len(l.acks), l.replayed, l.unknown, l.again, len(found), time.Since(began).Seconds()))
}

// number is an environment variable's, or the default.
func number(t *testing.T, name string, unset int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return unset
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number above 0", name, text)
	}
	return n
}

// report logs a line, and appends it to the file that KV_TEST_REPORT names, if it does: go test hides what a passing test
// logs.
func report(t *testing.T, line string) {
	t.Helper()
	t.Log(line)
	path := os.Getenv("KV_TEST_REPORT")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.TrimSuffix(line, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}
