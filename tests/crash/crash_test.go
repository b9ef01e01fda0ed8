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
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/proof"
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
	size := proof.Size(t, sizeVariable, shortSize)
	seed := proof.Size(t, seedVariable, 1+int(time.Now().UnixNano()%1_000_000))
	t.Logf("%s=%d %s=%d chooses these faults again", sizeVariable, size, seedVariable, seed)

	c := newCluster(t)
	u := newDatabase(t, c, "crash")
	faults := plan(rand.New(rand.NewPCG(uint64(seed), 1)), size)
	l := newLoad(t, u, once, rand.New(rand.NewPCG(uint64(seed), 2)), children)
	inCommit, kinds := 0, map[kind]int{}
	began := time.Now()
	l.run(t, func() {
		for i, f := range faults {
			begun := time.Now()
			hit, err := f.strike(t.Context(), l, c)
			if err != nil {
				t.Errorf("fault %d: %s: %v", i, f, err)
				return
			}
			t.Logf("fault %d: %s; a COMMIT was under way: %t; %.2f s", i, f, hit, time.Since(begun).Seconds())
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
	for _, f := range found[:min(len(found), 20)] {
		t.Error(f)
	}
	if len(found) > 20 {
		t.Errorf("and %d findings more", len(found)-20)
	}
	if floor := size / 10; inCommit < floor {
		t.Errorf("%d of %d faults fell between COMMIT sent and acknowledged, want %d or more", inCommit, size, floor)
	}
	proof.Report(t, fmt.Sprintf("seed %d: %d faults (%d times the server killed -9, %d clients killed, %d backends terminated, %d sockets cut), "+
		"%d of them between COMMIT sent and acknowledged; %d deliveries, %d acknowledgements, %d replays; %d unknown outcomes run again, "+
		"%d of them replayed; %d findings; %.0f s",
		seed, len(faults), kinds[serverKilled], kinds[clientKilled], kinds[backendTerminated], kinds[socketCut],
		inCommit, len(r.ledger), len(l.acks), l.replayed, l.unknown, l.again, len(found), time.Since(began).Seconds()))
}
