package crash

import (
	"bytes"
	"sync"
)

// What a proxy recognises. pgx and lib/pq send COMMIT as a simple query in a packet of its own, one in small letters and one in
// large ones, and wait; the server's answer to it begins with CommandComplete. A load that spoke otherwise would reach no gate,
// and its test would fail.
var (
	commitQuery  = []byte("Q\x00\x00\x00\x0bcommit\x00")
	commitDone   = []byte("C\x00\x00\x00\x0bCOMMIT\x00")
	rollbackDone = []byte("C\x00\x00\x00\x0dROLLBACK\x00")
)

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
	commit := bytes.EqualFold(data, commitQuery)
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
