package sweeper

import "time"

// batch is how many rows the next step may delete.
type batch struct {
	size, least, most int
	target            time.Duration
}

// took learns from a step that was allowed size rows: full says that it found about as many. A step that found few says
// nothing about what many would have cost. One step changes the size by a factor of two at most.
func (b *batch) took(d time.Duration, full bool) {
	if d > b.target {
		full = true // too long is too long, however little it found
	}
	if !full {
		return
	}
	factor := 2.0
	if d > 0 {
		factor = min(2, max(0.5, float64(b.target)/float64(d)))
	}
	b.set(float64(b.size) * factor)
}

// halve is for a step that was ended by its timeout.
func (b *batch) halve() { b.set(float64(b.size) / 2) }

func (b *batch) set(size float64) { b.size = min(b.most, max(b.least, int(size))) }

// backoff gives pauses that double from the least to the most.
type backoff struct {
	least, most time.Duration
	last        time.Duration // 0: begin with the least
	random      func() float64
}

// next is the next pause, shortened at random by up to half, so that sweepers that began together don't stay together.
func (b *backoff) next() time.Duration {
	b.last = min(b.most, max(b.least, 2*b.last))
	return b.last - time.Duration(b.random()*float64(b.last)/2)
}

func (b *backoff) reset() { b.last = 0 }
