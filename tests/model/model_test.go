package model_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/queenkv/queenkv/tests/model"
	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

const (
	calls      = 20000                // by default
	opsSetting = "KV_PROOF_MODEL_OPS" // as many ops instead
	round      = 50                   // histories at a time
)

// Random histories give the model's results, verdicts, errors and rows, under the contract's
// limits and under small ones; and all that can happen, happens: a run that lacks something goes
// on, to twice its size. A failure is made small and printed as a script for psql; -rapid.seed
// makes it again.
func TestHistories(t *testing.T) {
	goal, done := calls, func(sum tally) int { return sum.calls }
	long := proof.Size(t, opsSetting, 0)
	if long > 0 {
		goal, done = long, func(sum tally) int { return sum.ops }
	}
	// No files in the tree, and rounds short enough to end on time.
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.checks": strconv.Itoa(round)} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	sum := tally{events: map[model.Event]int{}}
	var mu sync.Mutex
	var failed atomic.Bool
	t.Run("workers", func(t *testing.T) {
		for i := range max(2, runtime.GOMAXPROCS(0)) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				defer func() {
					if t.Failed() {
						failed.Store(true)
					}
				}()
				db, limits := testdb.New(t, nil), model.Contract // of its own: a sweep is for all tenants
				if i%2 == 1 {
					limits = small
					db.Exec(t, limitsSQL(small))
				}
				s := connect(t, db, limits)
				for !failed.Load() {
					part := tally{events: map[model.Event]int{}}
					rapid.Check(quiet{t, &part.failure}, func(r *rapid.T) { play(t.Context(), r, s, &part) })
					mu.Lock()
					sum.add(part)
					played, missing := done(sum), len(sum.events) < len(cells())
					mu.Unlock()
					if played >= goal && (!missing || played >= 2*goal) {
						return
					}
				}
			})
		}
	})
	if failed.Load() {
		return
	}
	took := time.Since(began)
	table, wrong := coverage(sum.events)
	for _, w := range wrong {
		t.Error(w)
	}
	figures := fmt.Sprintf("%d calls with %d ops in %.0f s, %d of the %d cells that can happen",
		sum.calls, sum.ops, took.Seconds(), len(cells())-len(wrong), len(cells()))
	if long == 0 {
		t.Log("\n" + table)
	} else {
		figures += "\n" + table
	}
	proof.Report(t, figures)
}

func (sum *tally) add(part tally) {
	sum.calls += part.calls
	sum.ops += part.ops
	for e := range maps.Keys(part.events) {
		sum.events[e] += part.events[e]
	}
}

// quiet leaves out what rapid logs of itself: a line for each round, and of a failure every draw.
// It adds the failure itself where rapid can't make it again, as when it hangs on how many digits
// a version has.
type quiet struct {
	*testing.T
	failure *string
}

func (q quiet) Logf(format string, args ...any) {
	q.Helper()
	if !strings.HasPrefix(format, "[rapid]") {
		q.T.Logf(format, args...)
	}
}

func (q quiet) Errorf(format string, args ...any) {
	q.Helper()
	q.T.Errorf(format, args...)
	if strings.Contains(format, "flaky") {
		q.Log(*q.failure)
	}
}
