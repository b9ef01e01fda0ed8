package races

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// A table counts cells: a line for an op and what was beside it, a column for an isolation and
// an end of A.
type table struct {
	mu    sync.Mutex
	count map[[2]string]count
	why   map[string]map[string]bool // of a line
}

type count struct{ cells, waited int }

type column struct{ isolation, end, head string }

var columns = []column{
	{readCommitted, commits, "RC commit"}, {readCommitted, rollsBack, "rollback"}, {readCommitted, between, "after look"},
	{repeatableRead, commits, "RR commit"}, {repeatableRead, rollsBack, "rollback"}, {repeatableRead, between, "after look"},
	{repeatableRead, before, "earlier"},
	{serializable, commits, "SER commit"}, {serializable, rollsBack, "rollback"}, {serializable, between, "after look"},
	{serializable, before, "earlier"},
}

var whys = []string{lostLive, lostAbsent, noRow, toldBusy, tooLate}

func (t *table) add(c cell, w want, g got) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count, t.why = map[[2]string]count{}, map[string]map[string]bool{}
	}
	line := c.b.name + "\t" + c.a.name
	if t.why[line] == nil {
		t.why[line] = map[string]bool{}
	}
	n := t.count[[2]string{line, c.isolation + c.end}]
	n.cells++
	if g.waited {
		n.waited++
	}
	t.count[[2]string{line, c.isolation + c.end}] = n
	if w.why != "" {
		t.why[line][w.why] = true
	}
}

// String shows in each place "waited/cells", and by letters why the others of a line could not.
func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, "Cells in which B waited for A (seen in pg_stat_activity), of all cells:")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "B\tA (uncommitted)\t")
	for _, c := range columns {
		fmt.Fprint(w, c.head, "\t")
	}
	fmt.Fprintln(w, "could not wait")
	var all count
	sums := make([]count, len(columns))
	for _, line := range t.lines() {
		fmt.Fprint(w, line, "\t")
		for i, c := range columns {
			n := t.count[[2]string{line, c.isolation + c.end}]
			fmt.Fprintf(w, "%d/%d\t", n.waited, n.cells)
			sums[i].add(n)
			all.add(n)
		}
		fmt.Fprintln(w, letters(slices.Collect(maps.Keys(t.why[line]))))
	}
	fmt.Fprint(w, "all\t\t")
	for _, n := range sums {
		fmt.Fprintf(w, "%d/%d\t", n.waited, n.cells)
	}
	fmt.Fprintln(w)
	_ = w.Flush() // into a strings.Builder, which can't fail
	fmt.Fprintf(&b, "%d cells: %d waited, %d could not:\n", all.cells, all.waited, all.cells-all.waited)
	for i, why := range whys {
		fmt.Fprintf(&b, "  %c: %s\n", 'a'+i, why)
	}
	return b.String()
}

// lines are those that have cells, in the order of the lists in cell_test.go.
func (t *table) lines() (lines []string) {
	for _, b := range subjects {
		for _, a := range concurrents {
			line := b.name + "\t" + a.name
			if t.why[line] != nil && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func (n *count) add(m count) { n.cells += m.cells; n.waited += m.waited }

func letters(reasons []string) string {
	var s []string
	for i, why := range whys {
		if slices.Contains(reasons, why) {
			s = append(s, string(rune('a'+i)))
		}
	}
	return strings.Join(s, " ")
}
