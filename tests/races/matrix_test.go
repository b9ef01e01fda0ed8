package races

import (
	"fmt"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// TestMatrix plays every op against every concurrent change, and prints a table of what waited.
func TestMatrix(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	// One lane has the SERIALIZABLE cells: beside each other they would fail each other, since
	// SSI's read locks are of whole index pages. That is allowed, but would tell nothing.
	lanes := make([]*lane, 7)
	for i := range lanes {
		lanes[i] = newLane(t, db)
	}
	table := &table{}
	for i, subject := range subjects {
		t.Run(subject.name, func(t *testing.T) {
			shared, alone := make(chan cell), make(chan cell)
			var running sync.WaitGroup
			for j, l := range lanes {
				cells := shared
				if j == 0 {
					cells = alone
				}
				running.Go(func() {
					n := 0
					for c := range cells {
						n++
						w := c.expect()
						g, err := l.play(t.Context(), c, fmt.Sprintf("key-%d-%d-%d", i, j, n))
						if err != nil {
							t.Errorf("%v: %v", c, err)
							continue
						}
						check(t, c, w, g)
						table.add(c, w, g)
					}
				})
			}
			running.Go(func() { send(subject, alone, serializable) })
			send(subject, shared, readCommitted, repeatableRead)
			running.Wait()
		})
	}
	t.Log("\n" + table.String())
}

func send(b subject, cells chan<- cell, isolations ...string) {
	defer close(cells)
	for _, isolation := range isolations {
		for _, end := range []string{commits, rollsBack, before} {
			for _, key := range states {
				for _, a := range concurrents {
					if c := (cell{key: key, b: b, a: a, end: end, isolation: isolation}); c.makesSense() {
						cells <- c
					}
				}
			}
		}
	}
}

func check(t *testing.T, c cell, w want, g got) {
	t.Helper()
	if g.verdict != w.verdict {
		t.Errorf("%v: the verdict is %+v, want %+v", c, g.verdict, w.verdict)
	}
	if g.row != w.row {
		t.Errorf("%v: the row is then %+v, want %+v", c, g.row, w.row)
	}
	if g.waited != w.waits {
		t.Errorf("%v: waited for A: %v, want %v", c, g.waited, w.waits)
	}
	if w.free && len(g.took) > 0 {
		t.Errorf("%v: it took %v, and must take nothing", c, g.took)
	}
	if g.twice > 0 {
		t.Errorf("%v: B sees two rows with one key", c)
	}
}
