package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/queenkv/queenkv/bench/internal/report"
)

// An aim is what the table must keep to: a bound on one of the figures.
type aim struct {
	name string
	judged
	bound float64
}

func (a aim) met(f figures) bool {
	if a.more {
		return a.of(f) >= a.bound
	}
	return a.of(f) <= a.bound
}

const (
	leastRate   = 0.99
	leastHot    = 0.95
	mostTimes   = 2.0
	mostGrowth  = 0.03
	bandRanges  = 2.0  // see band
	bandLeast   = 0.05 // of the default's median
	lockedLeast = 50.0 // ms: five looks
)

var (
	hotShare  = judged{"HOT share", func(f figures) float64 { return f.hot }, true, 0.01}
	ofLiveSet = judged{"size", func(f figures) float64 { return f.times }, false, 0}
	aims      = []aim{
		{fmt.Sprintf("calls made at least %.0f%% of those due", 100*leastRate),
			judged{"calls made", func(f figures) float64 { return f.rate }, true, 0.005}, leastRate},
		{fmt.Sprintf("HOT share of counters at least %.0f%%", 100*leastHot), hotShare, leastHot},
		{fmt.Sprintf("table and indexes at most %.0fx the live set", mostTimes), ofLiveSet, mostTimes},
		{fmt.Sprintf("growth in the last half at most %.0f%%", 100*mostGrowth),
			judged{"growth", func(f figures) float64 { return f.growth }, false, 0.01}, mostGrowth},
	}
)

// A judged figure decides whether a value is better.
type judged struct {
	name  string
	of    func(figures) float64
	more  bool    // is better
	least float64 // what is no difference
}

var judgedBy = []judged{
	{"closed-loop calls/s", func(f figures) float64 { return f.burst }, true, 0},
	{"p99", func(f figures) float64 { return f.p99 }, false, 0.1},
	hotShare,
	{"dead rows", func(f figures) float64 { return f.dead }, false, 0},
	ofLiveSet,
	{"WAL", func(f figures) float64 { return f.wal }, false, 0},
	{"ACCESS EXCLUSIVE", func(f figures) float64 { return f.locked }, false, lockedLeast},
}

// band is how far a figure may be from the median of the default's runs and still be no other: bandRanges times the range of those
// runs, at least bandLeast of the median. Three runs show little of the noise, so their range alone would be too narrow.
func (j judged) band(defaults []figures) (middle, half float64) {
	var xs []float64
	for _, f := range defaults {
		xs = append(xs, j.of(f))
	}
	middle = report.Median(xs)
	return middle, max(bandRanges*(slices.Max(xs)-slices.Min(xs)), bandLeast*math.Abs(middle), j.least)
}

// compare is 1 where f is better than the default outside the band, -1 where it is worse, else 0.
func (j judged) compare(defaults []figures, f figures) int {
	middle, half := j.band(defaults)
	switch more := j.of(f) - middle; {
	case math.Abs(more) <= half:
		return 0
	case (more > 0) == j.more:
		return 1
	}
	return -1
}

// A verdict is how a value compares with the default.
type verdict struct {
	better, worse  []string // judged figures outside the band
	gained, missed []string // aims
	taken          bool
}

// judge: a value that misses an aim which the default meets is not taken. One that meets an aim which the default misses is. Else it
// is taken when a judged figure is better outside the band, and none is worse outside it. Two sides of a bound inside the band are no
// difference either.
func judge(defaults []figures, f figures) (v verdict) {
	base := medians(defaults)
	for _, a := range aims {
		if a.compare(defaults, f) == 0 {
			continue
		}
		switch {
		case a.met(base) && !a.met(f):
			v.missed = append(v.missed, a.name)
		case !a.met(base) && a.met(f):
			v.gained = append(v.gained, a.name)
		}
	}
	for _, j := range judgedBy {
		switch j.compare(defaults, f) {
		case 1:
			v.better = append(v.better, j.name)
		case -1:
			v.worse = append(v.worse, j.name)
		}
	}
	v.taken = len(v.missed) == 0 && (len(v.gained) > 0 || len(v.better) > 0 && len(v.worse) == 0)
	return v
}

// An outcome is a variant with the medians of its runs and how they compare.
type outcome struct {
	variant variant
	figures figures
	verdict verdict
}

// choose takes at most one value of each setting: the one that gains most aims, and of those the one with the smallest size.
func choose(all []outcome) (taken []outcome) {
	for _, s := range settings {
		var best *outcome
		for i, o := range all {
			if o.variant.setting != s.name || !o.verdict.taken {
				continue
			}
			gains := len(o.verdict.gained)
			if best == nil || gains > len(best.verdict.gained) || gains == len(best.verdict.gained) && o.figures.times < best.figures.times {
				best = &all[i]
			}
		}
		if best != nil {
			taken = append(taken, *best)
		}
	}
	return taken
}

// combined is the variant with all that was taken: the default again, where nothing was.
func combined(taken []outcome) variant {
	v := variant{name: lastName}
	for _, o := range taken {
		v.changes = append(v.changes, o.variant.changes...)
	}
	return v
}

// recommend says what is to be set, after the last run.
func recommend(taken []outcome, last outcome) string {
	var names []string
	for _, o := range taken {
		names = append(names, o.variant.name)
	}
	confirmed := len(last.verdict.missed) == 0 && len(last.verdict.worse) == 0
	switch {
	case len(taken) == 0 && confirmed:
		return "Keep the settings as installed: by the rule no other value is better, and the last run, of the default, is inside the band."
	case len(taken) == 0:
		return "Keep the settings as installed: by the rule no other value is better. The last run, of the default, is outside the band (" +
			last.verdict.why() + "), so the noise is larger than the band shows."
	case confirmed || len(last.verdict.gained) > 0 && len(last.verdict.missed) == 0:
		return "Set " + strings.Join(names, ", ") + ": the run with all of them together confirms it (" + last.verdict.why() + ")."
	}
	return "Not confirmed: " + strings.Join(names, ", ") + " were better alone, but the run with all of them together is not (" +
		last.verdict.why() + "). Keep the settings as installed."
}

// why tells a verdict in words.
func (v verdict) why() string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"meets", v.gained}, {"misses", v.missed}, {"better", v.better}, {"worse", v.worse}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+": "+strings.Join(p.names, ", "))
		}
	}
	if len(parts) == 0 {
		return "inside the band"
	}
	return strings.Join(parts, "; ")
}
