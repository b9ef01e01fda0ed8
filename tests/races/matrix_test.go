package races

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// TestMatrix plays every op against every concurrent change, and prints a table of what waited.
func TestMatrix(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	var lanes []*lane
	for range 5 {
		lanes = append(lanes, newLane(t, db))
	}
	// SERIALIZABLE cells would fail each other in one database, since SSI's read locks are of
	// whole index pages. That is allowed, but would tell nothing: these lanes have each their own.
	var lonely []*lane
	for range 2 {
		lonely = append(lonely, newLane(t, testdb.New(t, nil)))
	}
	table := &table{}
	for _, subject := range subjects {
		t.Run(subject.name, func(t *testing.T) {
			var running sync.WaitGroup
			run := func(lanes []*lane, isolations ...string) {
				cells := make(chan cell)
				running.Go(func() { send(subject, cells, isolations...) })
				for _, l := range lanes {
					running.Go(func() { l.playAll(t, cells, table) })
				}
			}
			run(lanes, readCommitted, repeatableRead)
			run(lonely, serializable)
			running.Wait()
		})
	}
	t.Log("\n" + table.String())
}

func (l *lane) playAll(t *testing.T, cells <-chan cell, table *table) {
	for c := range cells {
		w := c.expect()
		g, err := l.play(t.Context(), c, strings.ToLower(rand.Text()))
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		check(t, c, w, g)
		table.add(c, w, g)
	}
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
