package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The whole program, with tiny sizes: every cell is checked and runs, and the page and the plots are written.
func TestEveryCellRuns(t *testing.T) {
	binaries(t)
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("<!-- bench: begin; written by make bench -->\n<!-- bench: end -->\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	size := sizes{rows: 2000, small: 1000, big: 3000, large: 1000, rounds: 1, seconds: 0.01, warm: 0.005, out: page, plots: dir}
	if err := run(t.Context(), size); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), size.command()) {
		t.Errorf("the page lacks the command %q", size.command())
	}
	for _, c := range cells(size) {
		for _, o := range c.ops {
			name := o.name
			if name == batch.name {
				name = fmt.Sprintf("%d puts in a call", c.batch)
			}
			for _, s := range o.sides {
				if want := fmt.Sprintf("| %s | %s | %s |", c.factor, name, s.name); !strings.Contains(string(text), want) {
					t.Errorf("the page lacks %s", want)
				}
			}
		}
	}
	if plots, err := filepath.Glob(filepath.Join(dir, "bench-*.svg")); err != nil || len(plots) != 5 {
		t.Errorf("plots: %v, %v", plots, err)
	}
}

// The cells are a base and one factor changed at a time; every aim is at a contender that runs.
func TestCells(t *testing.T) {
	all := cells(sizes{rows: 1_000_000, small: 10_000, big: 10_000_000, large: 20_000})
	var groups []string
	for _, c := range all {
		if !slices.Contains(groups, c.group) {
			groups = append(groups, c.group)
		}
		for aim := range c.aims {
			found := false
			for _, o := range c.ops {
				for _, s := range o.sides {
					found = found || aim == o.name+"/"+s.name
				}
			}
			if !found {
				t.Errorf("%s: nobody runs for the aim %s", c.place(), aim)
			}
		}
	}
	want := []string{baseGroup, "Clients", "Batch", "One hot key", "Duplicates", "No fsync", flushGroup, "Size of the value", "Rows"}
	if !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
}

// A contender that does other work than the first is refused.
func TestCheckRefuses(t *testing.T) {
	b := newBench(t)
	c := cells(b.size)[0]
	if err := b.load(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []op{
		{name: "put", sides: []side{put.sides[0], lost.sides[1]}},
		{name: "put", sides: []side{put.sides[0], incr.sides[1]}},
		{name: "get", reads: true, sides: []side{get.sides[0], getMany.sides[1]}},
		{name: "once", sides: []side{once.sides[0], put.sides[0]}},
		{name: "losing putIfAbsent", loses: true, sides: absent.sides},
	} {
		if err := b.check(t.Context(), c, wrong); err == nil || !strings.Contains(err.Error(), "work") {
			t.Errorf("%s by %s and %s: %v", wrong.name, wrong.sides[0].name, wrong.sides[1].name, err)
		}
	}
	if err := b.check(t.Context(), c, put); err != nil {
		t.Error(err)
	}
}

func TestSizes(t *testing.T) {
	t.Setenv("KV_BENCH_ROWS", "5000")
	t.Setenv("KV_BENCH_SECONDS", "0.5")
	s, err := parse([]string{"-rounds", "2"})
	if err != nil || s.rows != 5000 || s.big != 10_000_000 || s.rounds != 2 || s.seconds != 0.5 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, wrong := range []string{"many", "0", "999"} {
		t.Setenv("KV_BENCH_ROWS", wrong)
		if s, err := parse(nil); err == nil {
			t.Errorf("%s: %+v", wrong, s)
		}
	}
}
