package main

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func TestTrend(t *testing.T) {
	for name, c := range map[string]struct {
		x, y        []float64
		slope, mean float64
	}{
		"a line":     {[]float64{1, 2, 4}, []float64{5, 7, 11}, 2, 23.0 / 3},
		"level":      {[]float64{1, 2, 3}, []float64{4, 4, 4}, 0, 4},
		"a sawtooth": {[]float64{0, 1, 2, 3, 4}, []float64{1, 3, 1, 3, 1}, 0, 1.8},
		"one point":  {[]float64{1}, []float64{4}, 0, 4},
	} {
		slope, mean := trend(c.x, c.y)
		if math.Abs(slope-c.slope) > 1e-9 || math.Abs(mean-c.mean) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v, %v", name, slope, mean, c.slope, c.mean)
		}
	}
}

// Of a hundred calls of 1 to 100 ms the 99th percentile is the 99th; calls before the time, of other kinds, and counters that were
// looked at are not among them.
func TestPercentile(t *testing.T) {
	var calls []call
	n := 0
	for ms := 1; ms <= 100; ms++ {
		for looked(n) {
			n++
		}
		calls = append(calls, call{time.Second, time.Duration(ms) * time.Millisecond, 'C', n})
		n++
	}
	for !looked(n) {
		n++
	}
	calls = append(calls, call{time.Second, time.Hour, 'C', n}, call{0, time.Hour, 'M', 0}, call{time.Second, time.Hour, 'L', 0})
	if got := percentile(calls, time.Second, "MC", 0.99); got != 99 {
		t.Errorf("p99 is %v, want 99", got)
	}
	if got := percentile(calls, 0, "MCL", 1); got != 3_600_000 {
		t.Errorf("the longest is %v, want an hour", got)
	}
	if got := percentile(nil, 0, "C", 0.99); !math.IsNaN(got) {
		t.Errorf("p99 of nothing is %v", got)
	}
}

// A run of 20 s: from its middle on 100 calls, 1 MB of WAL, a table that grows from 90 to 110 bytes of which 50 are needed.
func TestFigures(t *testing.T) {
	r := raw{
		plan: planOf(time.Second, 20), rate: 12.5, took: 20 * time.Second, halfWAL: 1_000_000, updated: 200, hot: 190,
		live: 5, packed: 50, locks: []lockCount{{1000, 1, 10 * time.Second}, {}, {100, 10, time.Second}}, given: []int64{0, 7},
		ebb: []call{{took: 3 * time.Millisecond, kind: 'G'}},
	}
	for i := range 200 {
		r.steady = append(r.steady, call{time.Duration(i) * 100 * time.Millisecond, time.Millisecond, 'L', i})
	}
	for i := range 31 { // the second half from 90 to 110; what came before, and what comes after, is not asked for
		at := time.Duration(i) * time.Second
		s := sample{At: at, Table: 40, Key: 30, Expires: 10 + int64(2*i-10), Dead: 6}
		if i < 10 || i > 20 {
			s = sample{At: at, Table: 1000, Dead: 1000}
		}
		r.samples = append(r.samples, s)
	}
	f := r.figures()
	for name, c := range map[string][2]float64{
		"rate": {f.rate, 0.8}, "hot": {f.hot, 0.95}, "wal": {f.wal, 1_000_000 / (100 * opsPerCall)}, "dead": {f.dead, 6},
		"table": {f.table, 40}, "indexes": {f.indexes, 70}, "times": {f.times, 2.2}, "growth": {f.growth, 0.2},
		"locked": {f.locked, 110}, "given": {f.given, 7}, "ebb": {f.ebbMax, 3}, "p99": {f.p99, 1},
	} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
}

// pattern has two batches of 20, four counters and a lease.
func TestOps(t *testing.T) {
	if want := 45.0 / 7; math.Abs(opsPerCall-want) > 1e-9 {
		t.Errorf("%v ops a call, want %v", opsPerCall, want)
	}
	// 7000 markers that live 10 s are 700 a second, 35 batches, with 87.5 other calls.
	if got := (sizes{live: 7000}).rate(planOf(10*time.Second, 20)); math.Abs(got-122.5) > 1e-9 {
		t.Errorf("%v calls a second, want 122.5", got)
	}
}

// A call that finds no client free is late from when it was due, and none is left out.
func TestPaced(t *testing.T) {
	seen := make([]byte, 20)
	l := load{1, func(_ context.Context, _, n int, kind byte) error {
		if seen[n] = kind; n == 0 {
			<-time.After(500 * time.Millisecond) // the server stands still
		}
		return nil
	}}
	calls, err := l.paced(t.Context(), 20, time.Second, "MC")
	if err != nil || len(calls) != 20 || string(seen) != "MCMCMCMCMCMCMCMCMCMC" {
		t.Fatalf("%d calls, %s, %v; want 20", len(calls), seen, err)
	}
	for _, c := range calls {
		due := time.Duration(c.n) * 50 * time.Millisecond
		if c.due != due || c.took < 500*time.Millisecond-due {
			t.Errorf("call %d was due after %v and took %v; want that what waited is counted", c.n, c.due, c.took)
		}
	}
}

// A server that can't keep up is given up after twice the time.
func TestPacedOverload(t *testing.T) {
	var made atomic.Int64
	l := load{2, func(context.Context, int, int, byte) error {
		made.Add(1)
		<-time.After(20 * time.Millisecond)
		return nil
	}}
	calls, err := l.paced(t.Context(), 10_000, 50*time.Millisecond, "M")
	if err != nil || len(calls) != int(made.Load()) || len(calls) == 0 || len(calls) > 12 { // of 500
		t.Errorf("%d calls of %d, %v", len(calls), made.Load(), err)
	}
}

func TestTruncatedPages(t *testing.T) {
	const log = `2026-12-01 02:40:21.1 UTC [1] LOG:  automatic vacuum of table "postgres.queen.kv": index scans: 1
	pages: 0 removed, 1389 remain, 1100 scanned (79.19% of total)
	tuples: 100 removed, 20 remain
2026-12-01 02:40:24.1 UTC [1] LOG:  automatic aggressive vacuum of table "postgres.queen.kv": index scans: 1
	pages: 1507 removed, 2 remain, 0 skipped due to pins, 0 skipped frozen
2026-12-01 02:40:25.1 UTC [1] LOG:  automatic vacuum of table "postgres.pg_catalog.pg_class": index scans: 1
	pages: 9 removed, 2 remain
2026-12-01 02:40:26.1 UTC [1] LOG:  automatic vacuum of table "postgres.queen.kv": index scans: 0
	pages: 3 removed, 2 remain
`
	if got := truncatedPages(log); got != 1510 {
		t.Errorf("%d pages, want 1510", got)
	}
}
