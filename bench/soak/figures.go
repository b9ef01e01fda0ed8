package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/queenkv/queenkv/bench/internal/report"
)

// figures are what a run comes to; where nothing else is said, of the last half of the steady phase.
type figures struct {
	rate     float64 // calls that the clients managed of those that were due, in the whole steady phase
	burst    float64 // calls a second when the clients don't wait
	p99      float64 // ms, of all calls, from when they were due
	countP99 float64 // ms, of counters
	hot      float64 // share of the counters' updates
	dead     float64 // rows, mean
	table    float64 // bytes at the end
	indexes  float64
	times    float64 // table and indexes at the end over the live set, packed
	growth   float64 // what the trend adds in that half, as a share of the mean size
	wal      float64 // bytes an op, a marker of a batch being one; sweeping and vacuum are in it
	locked   float64 // ms of ACCESS EXCLUSIVE, in all phases
	given    float64 // pages given back by vacuum, in all phases
	ebbMax   float64 // ms, the longest read at ebb
	vacuums  float64 // in the steady phase
	late     float64 // s, the oldest expired row that a step of the sweeper left
	live     float64 // rows
	packed   float64 // bytes
}

func (r *raw) figures() (f figures) {
	half := r.plan.steady / 2
	f.rate = float64(len(r.steady)) / max(r.took, r.plan.steady).Seconds() / r.rate
	f.burst = float64(len(r.burst)) / r.plan.burst.Seconds()
	calls := 0
	for _, c := range r.steady {
		if c.due >= half {
			calls++
		}
	}
	f.p99 = percentile(r.steady, half, pattern, 0.99)
	f.countP99 = percentile(r.steady, half, "C", 0.99)
	f.ebbMax = percentile(r.ebb, 0, "G", 1)
	f.wal = float64(r.halfWAL) / (float64(max(calls, 1)) * opsPerCall)
	f.hot = float64(r.hot) / float64(max(r.updated, 1))
	f.live, f.packed, f.vacuums, f.late = float64(r.live), float64(r.packed), float64(r.vacuums), r.late.Seconds()
	for _, l := range r.locks {
		f.locked += float64(l.time()) / float64(time.Millisecond)
	}
	for _, n := range r.given {
		f.given += float64(n)
	}

	last := slices.DeleteFunc(slices.Clone(r.samples), func(s sample) bool { return s.At < half || s.At > r.took })
	if len(last) == 0 {
		return f
	}
	x, y := make([]float64, len(last)), make([]float64, len(last))
	for i, s := range last {
		x[i], y[i] = s.At.Seconds(), s.total()
		f.dead += float64(s.Dead) / float64(len(last))
	}
	end := last[len(last)-1]
	f.table, f.indexes = float64(end.Table), float64(end.Key+end.Expires)
	f.times = end.total() / float64(r.packed)
	slope, mean := trend(x, y)
	f.growth = slope * half.Seconds() / mean
	return f
}

// percentile of the calls of some kinds that were due from a time on, in ms; the ones that were looked at are not among them.
func percentile(calls []call, from time.Duration, kinds string, share float64) float64 {
	var ms []float64
	for _, c := range calls {
		if c.due >= from && strings.IndexByte(kinds, c.kind) >= 0 && (c.kind != 'C' || !looked(c.n)) {
			ms = append(ms, float64(c.took)/float64(time.Millisecond))
		}
	}
	if len(ms) == 0 {
		return math.NaN()
	}
	slices.Sort(ms)
	return ms[max(int(math.Ceil(share*float64(len(ms))))-1, 0)]
}

// trend is the line of least squares: its slope, and the mean of y.
func trend(x, y []float64) (slope, mean float64) {
	var mx, xy, xx float64
	n := float64(len(x))
	for i := range x {
		mx += x[i] / n
		mean += y[i] / n
	}
	for i := range x {
		xy += (x[i] - mx) * (y[i] - mean)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	if xx == 0 {
		return 0, mean
	}
	return xy / xx, mean
}

// each calls f with every number of the figures, so that medians are taken of all alike.
func (f *figures) each() []*float64 {
	return []*float64{&f.rate, &f.burst, &f.p99, &f.countP99, &f.hot, &f.dead, &f.table, &f.indexes, &f.times, &f.growth, &f.wal,
		&f.locked, &f.given, &f.ebbMax, &f.vacuums, &f.late, &f.live, &f.packed}
}

// medians of each figure alone.
func medians(all []figures) (m figures) {
	for i, into := range m.each() {
		var xs []float64
		for j := range all {
			xs = append(xs, *all[j].each()[i])
		}
		*into = report.Median(xs)
	}
	return m
}
