package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A quantile is the least time that so large a share of the puts does not exceed.
func TestQuantile(t *testing.T) {
	var l load
	for i := range 200 {
		l = append(l, float64(i+1))
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 100, 0.99: 198, 0.999: 200, 1: 200} {
		if got := l.at(q); got != want {
			t.Errorf("the quantile %v of 1 to 200 is %v, want %v", q, got, want)
		}
	}
	if got := (load{7}).at(0.99); got != 7 {
		t.Errorf("of one: %v", got)
	}
}

// Aims that are missed are told so, those that are met are not, and a machine that doesn't tell memory is no success.
func TestForegroundTable(t *testing.T) {
	lengths := []time.Duration{time.Second, time.Second, 3 * time.Second}
	fast := foregroundRuns{without: []load{{1}, {2}, {4}}, with: []load{{1}, {2.4}, {40}}, lengths: lengths, memory: []float64{12, 20, 16}}
	for _, want := range []string{
		"| without the sweep | 2.00 | 2.00 | 2.00 | 2.00 |\n", "| beside the sweep | 2.40 | 2.40 | 2.40 | 2.40 |\n",
		"is 1.20 of the p99 without, 1.00 to 10.00 over the pairs; aim ≤ 1.3.", "took 1.0 s", "20.0 MiB at most (VmHWM); aim < 30 MiB.\n",
	} {
		if text := fast.table(100, 1000, 5, 5); !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	slow := foregroundRuns{without: []load{{1}}, with: []load{{2}}, lengths: lengths[:1], memory: []float64{31}}
	if text := slow.table(100, 1000, 5, 5); strings.Count(text, "(missed)") != 2 {
		t.Errorf("two aims are missed: %s", text)
	}
	slow.memory = nil
	if text := slow.table(100, 1000, 5, 5); !strings.Contains(text, "memory was not measured") {
		t.Error(text)
	}
}

// A sweeper has drained when its passes have deleted as many rows as there were; one that ends before ends the waiting too.
func TestProcess(t *testing.T) {
	program := func(script string) string {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const half = `echo "time=0 level=INFO msg=swept deleted=30 drained=false" >&2` + "\n"
	p, err := startSweeper(t.Context(), program(`trap 'kill $child; exit 0' TERM; sleep 60 2>&- & child=$!`+"\n"+half+half+"wait"), "", 60)
	if err != nil {
		t.Fatal(err)
	}
	<-p.drained
	if err := p.stop(); err != nil { // SIGTERM is enough
		t.Error(err)
	}
	if p, err = startSweeper(t.Context(), program(half+"exit 1"), "", 60); err != nil {
		t.Fatal(err)
	}
	<-p.drained
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "deleted=30") {
		t.Errorf("a sweeper that failed: %v", err)
	}
}
