package linear

import (
	"fmt"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

var isolations = []string{"read committed", "repeatable read", "serializable"}

// TestLinearizable: every key has an order of its calls that explains all answers. KV_PROOF_LINEAR_CALLS is how many calls are
// made in each isolation.
func TestLinearizable(t *testing.T) {
	rounds := max(1, proof.Size(t, "KV_PROOF_LINEAR_CALLS", 5*callsARound)/callsARound)
	for _, isolation := range isolations {
		t.Run(isolation, func(t *testing.T) {
			db := testdb.New(t, nil)
			all := newClients(t, db, isolation)
			stop := prune(t, db)
			var sum tally
			var checking time.Duration
			for n := range rounds {
				r, err := play(t.Context(), all, fmt.Sprint("round ", n))
				if err != nil {
					t.Fatal(err)
				}
				sum.add(r.tally)
				began := time.Now()
				f, err := r.check()
				checking += time.Since(began)
				if err != nil {
					t.Fatal(err)
				}
				if f != nil {
					t.Fatalf("%s is not linearizable: %s\nsee %s", f.key, f.text, f.picture())
				}
			}
			sum.pruned = stop()
			proof.Report(t, fmt.Sprintf("linearizable: %v; checked in %.1f s", sum, checking.Seconds()))
			if sum.lost == 0 || sum.dead == 0 || sum.pruned == 0 {
				t.Error("it never met what it is for")
			}
			if isolation != isolations[0] && sum.retries == 0 {
				t.Error("no two transactions met")
			}
		})
	}
}

func newClients(t *testing.T, db *testdb.DB, isolation string) (all []*client) {
	t.Helper()
	for range clients {
		all = append(all, newClient(t, db, isolation))
	}
	return all
}
