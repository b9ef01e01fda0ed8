package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// A report is what the program prints at the end.
type report struct {
	File   *expectation `json:"file"`
	Run    *tally       `json:"run,omitempty"` // of this process alone; nil when nothing was run
	Took   float64      `json:"seconds"`
	Books  *totals      `json:"books"` // over all runs on this schema
	Checks []check      `json:"checks"`
}

func newReport(e *expectation, t *totals, run *tally, took time.Duration) *report {
	return &report{File: e, Run: run, Took: took.Seconds(), Books: t, Checks: checksOf(e, t, run)}
}

func (r *report) failed() (n int) {
	for _, c := range r.Checks {
		if !c.OK {
			n++
		}
	}
	return n
}

func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r *report) writeText(w io.Writer) error {
	var b strings.Builder
	f, t := r.File, r.Books
	fmt.Fprintf(&b, "file    %d lines: %d distinct deliveries, %d duplicates, %d with a known id and another body, %d malformed\n",
		f.Lines, f.Distinct, f.Duplicates, f.Rivals, f.Malformed)
	if run := r.Run; run != nil {
		fmt.Fprintf(&b, "run     %d effects, %d replays (%d of them began before the effect), %d refused, %d malformed, %d retries, %.1f s\n",
			run.Effects, run.Replays, run.InFlight, run.Refusals, run.Malformed, run.Retries, r.Took)
	}
	fmt.Fprintf(&b, "books   %d effects, %d of them doubles; %d counted, balances of %d cents\n",
		t.Effects, t.Doubles, t.Counted, t.Cents)
	if t.Doubles > 0 {
		fmt.Fprintf(&b, "        doubles: %s ...\n", strings.Join(t.doubled, ", "))
	}
	for _, c := range r.Checks {
		word := "ok"
		if !c.OK {
			word = "FAILED"
		}
		fmt.Fprintf(&b, "%-7s %-5s %s: %s\n", word, c.Group, c.Name, c.Detail)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
