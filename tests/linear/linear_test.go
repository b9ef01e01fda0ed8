package linear

import (
	"fmt"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

var isolations = []string{"read committed", "repeatable read", "serializable"}

const mixed = "mixed" // stands for the three at once, client by client

// TestLinearizable: every key has an order of its calls that explains all answers. KV_PROOF_LINEAR_CALLS is how many calls are
// made in each isolation, and in a mix of them.
func TestLinearizable(t *testing.T) {
	rounds := max(1, proof.Size(t, "KV_PROOF_LINEAR_CALLS", 3*callsARound)/callsARound)
	var all tally
	began := time.Now()
	for _, isolation := range append(isolations, mixed) {
		t.Run(isolation, func(t *testing.T) {
			sum := runRounds(t, isolation, rounds)
			t.Log(sum)
			if sum.lost == 0 || sum.dead == 0 || sum.pruned == 0 || isolation != isolations[0] && sum.retries == 0 {
				t.Error("it never met what it is for")
			}
			all.add(sum)
		})
	}
	if !t.Failed() {
		proof.Report(t, fmt.Sprintf("linearizable in %d isolations and mixed: %v; %.0f s, of which checking %.1f s",
			len(isolations), all, time.Since(began).Seconds(), all.checking.Seconds()))
	}
}

func runRounds(t *testing.T, isolation string, rounds int) (sum tally) {
	t.Helper()
	db := testdb.New(t, nil)
	all := newClients(t, db, isolation)
	stop := prune(t, db, pruneSQL)
	defer stop()
	for n := range rounds {
		r, err := play(t.Context(), all, fmt.Sprint("round ", n))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		f, err := r.check()
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			t.Fatalf("%s is not linearizable: %s\nsee %s", f.key, f.text, f.picture())
		}
		r.tally.checking = time.Since(began)
		sum.add(r.tally)
	}
	sum.pruned = stop()
	return sum
}

func newClients(t *testing.T, db *testdb.DB, isolation string) (all []*client) {
	t.Helper()
	for i := range clients {
		if isolation == mixed {
			all = append(all, newClient(t, db, isolations[i%len(isolations)]))
		} else {
			all = append(all, newClient(t, db, isolation))
		}
	}
	return all
}
