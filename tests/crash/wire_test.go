package crash

import (
	"bytes"
	"sync"
)

// What a proxy recognises. pgx sends COMMIT as a simple query in a packet of its own, and waits; the server's answer to it
// begins with CommandComplete. A load that spoke otherwise would reach no gate, and its test would fail.
var (
	commitQuery  = []byte("Q\x00\x00\x00\x0bcommit\x00")
	commitDone   = []byte("C\x00\x00\x00\x0bCOMMIT\x00")
	rollbackDone = []byte("C\x00\x00\x00\x0dROLLBACK\x00")
)

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
	release chan verdict
}

func newGate(at moment, skip int) *gate {
	return &gate{at: at, skip: skip, reached: make(chan *wire, 1), release: make(chan verdict, 1)}
}

// A tap is a proxy's memory: its connections, and the gate that waits for one of them.
type tap struct {
	mu      sync.Mutex
	opening *wire // made for the direction to the server, and awaited for the other one
	live    map[*wire]bool
	gate    *gate
	broken  int // connections that ended between COMMIT and its answer
}

// A wire is one connection through a proxy.
type wire struct {
	tap  *tap
	done chan struct{} // closed when the connection has ended, in either direction

	// Guarded by tap.mu.
	committing bool // COMMIT has come from the client, and its answer has not gone there
	deaf       bool // nothing goes to the client any more
}

func (t *tap) arm(g *gate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gate = g
}

func (t *tap) wires() []*wire {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*wire
	for w := range t.live {
		all = append(all, w)
	}
	return all
}

func (t *tap) brokenCommits() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

// wire gives both directions of a new connection the same wire: a proxy starts one after the other, in one goroutine.
func (t *tap) wire(up bool) *wire {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !up {
		w := t.opening
		t.opening = nil
		return w
	}
	t.opening = &wire{tap: t, done: make(chan struct{})}
	if t.live == nil {
		t.live = map[*wire]bool{}
	}
	t.live[t.opening] = true
	return t.opening
}

// end is called by whoever finds the connection broken first.
func (w *wire) end() {
	w.tap.mu.Lock()
	defer w.tap.mu.Unlock()
	if !w.tap.live[w] {
		return
	}
	delete(w.tap.live, w)
	if w.committing {
		w.tap.broken++
	}
	close(w.done)
}

// fromClient decides about a packet on its way to the server.
func (w *wire) fromClient(data []byte) verdict {
	w.tap.mu.Lock()
	commit := bytes.Equal(data, commitQuery)
	if commit {
		w.committing = true
	}
	statement := bytes.IndexByte([]byte("QPB"), data[0]) >= 0 // neither the startup nor the password
	g := w.tap.meet(w, func(at moment) bool {
		return at == anywhere && statement || commit && (at == sent || at == passed)
	})
	w.tap.mu.Unlock()
	v := g.hold(w)
	if v == deliverAndCut {
		w.tap.mu.Lock()
		w.deaf = true
		w.tap.mu.Unlock()
	}
	return v
}

// fromServer decides about a packet on its way to the client.
func (w *wire) fromServer(data []byte) verdict {
	w.tap.mu.Lock()
	done := bytes.HasPrefix(data, commitDone)
	g := w.tap.meet(w, func(at moment) bool { return done && w.committing && at == answered })
	w.tap.mu.Unlock()
	v := g.hold(w)
	w.tap.mu.Lock()
	defer w.tap.mu.Unlock()
	if w.deaf {
		return lose
	}
	if v == deliver && (done || bytes.HasPrefix(data, rollbackDone)) {
		w.committing = false
	}
	return v
}

// meet takes the tap's gate away when this is its moment.
func (t *tap) meet(w *wire, now func(at moment) bool) *gate {
	g := t.gate
	if g == nil || w.deaf || !now(g.at) {
		return nil
	}
	if g.skip > 0 {
		g.skip--
		return nil
	}
	t.gate = nil
	return g
}

func (g *gate) hold(w *wire) verdict {
	if g == nil {
		return deliver
	}
	g.reached <- w
	return <-g.release
}
