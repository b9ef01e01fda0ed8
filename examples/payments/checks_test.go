package main

import (
	"slices"
	"testing"
)

// right is a file of three deliveries, booked rightly by one run that met one duplicate, one rival and one malformed line.
func right() (*expectation, *totals, *tally) {
	accounts := map[string]account{"x": {2, 380}, "y": {1, 1}}
	return &expectation{Lines: 6, Malformed: 1, Distinct: 3, Duplicates: 1, Rivals: 1, Cents: 381, accounts: accounts},
		&totals{
			Effects: 3, Counted: 3, Cents: 381,
			ledger:   map[string]account{"x": {2, 380}, "y": {1, 1}},
			counters: map[string]int64{"x": 2, "y": 1},
			balances: map[string]int64{"x": 380, "y": 1},
		},
		&tally{Effects: 3, Replays: 1, Refusals: 1, Malformed: 1}
}

// Each damage must be seen by the groups of checks that it concerns, and by no others.
func TestChecks(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*expectation, *totals, *tally)
		want   []string
	}{
		"none":                 {func(*expectation, *totals, *tally) {}, nil},
		"a line unaccounted":   {func(_ *expectation, _ *totals, r *tally) { r.Replays-- }, []string{ofRun}},
		"a rival let through":  {func(_ *expectation, _ *totals, r *tally) { r.Refusals--; r.Replays++ }, []string{ofRun}},
		"a malformed line in":  {func(_ *expectation, _ *totals, r *tally) { r.Malformed--; r.Replays++ }, []string{ofRun}},
		"a double":             {func(_ *expectation, b *totals, _ *tally) { b.Doubles++ }, []string{ofBooks}},
		"an effect missing":    {func(_ *expectation, b *totals, _ *tally) { b.Effects-- }, []string{ofFile}},
		"a counter behind":     {func(_ *expectation, b *totals, _ *tally) { b.counters["y"]-- }, []string{ofBooks, ofFile}},
		"a counter missing":    {func(_ *expectation, b *totals, _ *tally) { delete(b.counters, "y") }, []string{ofBooks, ofFile}},
		"a stranger's counter": {func(_ *expectation, b *totals, _ *tally) { b.counters["z"] = 1 }, []string{ofBooks, ofFile}},
		"cents on the wrong account": {func(_ *expectation, b *totals, _ *tally) {
			b.balances["x"]--
			b.balances["y"]++
		}, []string{ofBooks, ofFile}},
		"an effect of another file": {func(_ *expectation, b *totals, _ *tally) {
			b.Effects++
			b.ledger["x"] = account{3, 390}
			b.counters["x"], b.balances["x"] = 3, 390
		}, []string{ofFile}},
		"an undecided rival": {func(e *expectation, _ *totals, _ *tally) { e.undecided = 5 }, []string{ofFile}},
	} {
		e, b, r := right()
		c.damage(e, b, r)
		var failed []string
		for _, check := range checksOf(e, b, r) {
			if !check.OK && !slices.Contains(failed, check.Group) {
				failed = append(failed, check.Group)
			}
		}
		if !slices.Equal(failed, c.want) {
			t.Errorf("%s: %v failed, want %v", name, failed, c.want)
		}
	}
}

func TestChecksWithoutARun(t *testing.T) {
	e, b, _ := right()
	for _, c := range checksOf(e, b, nil) {
		if c.Group == ofRun {
			t.Errorf("nothing was run, and %q is checked", c.Name)
		}
	}
}
