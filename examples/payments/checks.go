package main

import (
	"fmt"
	"maps"
	"slices"
)

// A check is one thing that must hold.
type check struct {
	Group  string `json:"group"`
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // both figures
}

// The groups of checks, by when they hold.
const (
	ofRun   = "run"   // when this process has handled the whole file
	ofBooks = "books" // at any moment, also while others write and after a crash
	ofFile  = "file"  // when some process has handled the whole file, and nothing but this file was ever booked
)

// checksOf compares the three: run is nil when nothing was run.
func checksOf(e *expectation, t *totals, run *tally) []check {
	var checks []check
	if run != nil {
		checks = append(checks,
			equal(ofRun, "every line is an effect, a replay, a refusal or malformed",
				int64(run.Effects+run.Replays+run.Refusals+run.Malformed), int64(e.Lines)),
			equal(ofRun, "refusals = deliveries whose id came before with another event or body",
				int64(run.Refusals), int64(e.Rivals)),
			equal(ofRun, "malformed = malformed lines of the file", int64(run.Malformed), int64(e.Malformed)))
	}
	effects, cents := columns(t.ledger)
	expectedEffects, expectedCents := columns(e.accounts)
	checks = append(checks,
		equal(ofBooks, "no delivery has a second effect", t.Doubles, 0),
		equalEach(ofBooks, "counters = effects in the ledger, for each customer", t.counters, effects),
		equalEach(ofBooks, "balances = sums of the ledger, for each customer", t.balances, cents),
		equal(ofFile, "effects = distinct deliveries of the file", t.Effects, int64(e.Distinct)),
		equalEach(ofFile, "counters = effects by the file, for each customer", t.counters, expectedEffects))
	balances := equalEach(ofFile, "balances = sums computed from the file, for each customer", t.balances, expectedCents)
	if e.undecided > 0 {
		balances.OK = false
		balances.Detail = fmt.Sprintf("line %d contradicts a line less than %d before it: which one wins is a matter of timing", e.undecided, window)
	}
	return append(checks, balances)
}

func columns(accounts map[string]account) (effects, cents map[string]int64) {
	effects, cents = map[string]int64{}, map[string]int64{}
	for customer, a := range accounts {
		effects[customer], cents[customer] = a.Effects, a.Cents
	}
	return effects, cents
}

func equal(group, name string, have, want int64) check {
	if have == want {
		return check{group, name, true, fmt.Sprint(have)}
	}
	return check{group, name, false, fmt.Sprintf("%d, not %d", have, want)}
}

// equalEach compares customer by customer; one that is missing has 0.
func equalEach(group, name string, have, want map[string]int64) check {
	var differ []string
	for customer := range merged(have, want) {
		if have[customer] != want[customer] {
			differ = append(differ, customer)
		}
	}
	if len(differ) == 0 {
		return check{group, name, true, fmt.Sprintf("%d for %d customers", sum(have), len(have))}
	}
	first := slices.Min(differ)
	return check{group, name, false, fmt.Sprintf("%d, not %d: %d customers differ, %s has %d, not %d",
		sum(have), sum(want), len(differ), first, have[first], want[first])}
}

func merged(a, b map[string]int64) map[string]int64 {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func sum(m map[string]int64) (total int64) {
	for _, n := range m {
		total += n
	}
	return total
}
