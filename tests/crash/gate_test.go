package crash

import "sync"

// A moment is where a fault strikes a connection.
type moment string

const (
	anywhere moment = "anywhere"               // at any statement of the client's, COMMIT too
	sent     moment = "COMMIT sent"            // COMMIT has left the client and has not reached the server
	passed   moment = "COMMIT passed on"       // COMMIT goes to the server, and the connection ends right behind it
	answered moment = "COMMIT done, not heard" // the server has committed, and its answer has not reached the client
)

// A verdict is what becomes of what a gate held back.
type verdict int

const (
	deliver verdict = iota // it goes on, wherever that leads
	lose                   // it is lost, and the connection is cut
	deliverAndCut
)

// A gate holds the first connection that comes to its moment, skip times not, until it is released.
type gate struct {
	at      moment
	skip    int
	reached chan *wire // gets the connection held

	once    sync.Once
	open    chan struct{}
	verdict verdict // read after open is closed
}

func newGate(at moment, skip int) *gate {
	return &gate{at: at, skip: skip, reached: make(chan *wire, 1), open: make(chan struct{})}
}

// release lets go of what is held, or will be; the first verdict counts.
func (g *gate) release(v verdict) {
	g.once.Do(func() {
		g.verdict = v
		close(g.open)
	})
}

// hold waits for the verdict; there is nothing to wait for without a gate.
func (g *gate) hold(w *wire) verdict {
	if g == nil {
		return deliver
	}
	g.reached <- w
	<-g.open
	return g.verdict
}

// meet takes the tap's gate away when this is its moment.
func (t *tap) meet(w *wire, now func(at moment) bool) *gate {
	g := t.gate
	if g == nil || !t.live[w] || w.deaf || !now(g.at) {
		return nil
	}
	if g.skip > 0 {
		g.skip--
		return nil
	}
	t.gate = nil
	return g
}
