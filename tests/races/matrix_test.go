package races

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/proof"
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
	// whole index pages; that is allowed, but would tell nothing. And cells that lock the sequence
	// would stop all others. These lanes have a database each.
	var lonely []*lane
	for range 2 {
		lonely = append(lonely, newLane(t, testdb.New(t, nil)))
	}
	table := &table{}
	for _, subject := range subjects {
		t.Run(subject.name, func(t *testing.T) {
			var running sync.WaitGroup
			run := func(lanes []*lane, theirs func(cell) bool) {
				cells := make(chan cell)
				running.Go(func() { send(subject, theirs, cells) })
				for _, l := range lanes {
					running.Go(func() { l.playAll(t, cells, table) })
				}
			}
			run(lanes, func(c cell) bool { return c.isolation != serializable && c.end != between })
			run(lonely, func(c cell) bool { return c.isolation == serializable || c.end == between })
			running.Wait()
		})
	}
	proof.Report(t, table.String())
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

// send sends those of the cells of b that are theirs.
func send(b subject, theirs func(cell) bool, cells chan<- cell) {
	defer close(cells)
	for _, isolation := range []string{readCommitted, repeatableRead, serializable} {
		for _, end := range ends {
			for _, key := range states {
				for _, a := range concurrents {
					c := cell{key: key, b: b, a: a, end: end, isolation: isolation}
					if c.makesSense() && theirs(c) {
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
