package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// print writes the table: what each run did, and what the books then held.
func (s *stage) print(w io.Writer) error {
	f := s.results[0].File
	fmt.Fprintf(w, "The file holds %d distinct deliveries, %d duplicates, %d with a known id and another body, and %d malformed lines.\n\n",
		f.Distinct, f.Duplicates, f.Rivals, f.Malformed)

	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		for _, c := range cells {
			fmt.Fprintf(t, "%v\t", c)
		}
		fmt.Fprintln(t)
	}
	width := 0
	for _, r := range s.results {
		width = max(width, len(r.name))
	}
	name := func(s string) string { return fmt.Sprintf("%-*s", width, s) } // the one column that stands on the left
	row(name("run"), "ended", "effects", "replays", "in flight", "refused", "malformed", "| effects", "doubles", "cents", "failed")
	for _, r := range s.results {
		failed := cmp.Or(strings.Join(r.failedGroups(), ","), "-")
		did := []any{name(r.name), r.ended, "", "", "", "", ""}
		if run := r.Run; run != nil {
			did = []any{name(r.name), r.ended, run.Effects, run.Replays, run.InFlight, run.Refusals, run.Malformed}
		}
		row(append(did, r.Books.Effects, r.Books.Doubles, r.Books.Cents, failed)...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, `
Left of the line is what that process did, right of it what the books then held in all, cents being the sum of all
balances. In flight: replays that began before the effect they replay was complete. Failed: the groups of checks that
did; "file" alone means that ledger, counters and balances agree, and that not everything in the file is booked yet.
`)
	for _, r := range s.results {
		if r.lastWords != "" {
			fmt.Fprintf(w, "Before its end the killed process said: %s\n", r.lastWords)
		}
	}
	return nil
}
