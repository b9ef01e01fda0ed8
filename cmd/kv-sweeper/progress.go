package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/queenkv/queenkv/sweeper"
)

// progress shows how far a drain is: on a terminal a line that changes, elsewhere a line now and then.
type progress struct {
	w        io.Writer
	terminal bool
	width    int
	began    time.Time
	shown    time.Time
	deleted  int64
	open     bool // a changing line stands there
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, began: time.Now(), shown: time.Now()}
	if f, ok := w.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
		p.width, _, _ = term.GetSize(int(f.Fd()))
	}
	return p
}

func (p *progress) step(s sweeper.Step) {
	p.deleted += s.Deleted
	every := 10 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	elapsed := now.Sub(p.began)
	text := fmt.Sprintf("deleted %d rows in %s, %.0f rows/s, batch %d, %s left", p.deleted, elapsed.Round(100*time.Millisecond),
		float64(p.deleted)/elapsed.Seconds(), s.Allowed, atLeast(s.Unpruned, s.Capped))
	if !p.terminal {
		fmt.Fprintln(p.w, text)
		return
	}
	if p.width > 1 && len(text) >= p.width {
		text = text[:p.width-1]
	}
	fmt.Fprint(p.w, "\r"+text+"\x1b[K")
	p.open = true
}

// line prints a line of its own.
func (p *progress) line(text string) {
	p.end()
	fmt.Fprintln(p.w, text)
}

// end takes the changing line away.
func (p *progress) end() {
	if p != nil && p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}
