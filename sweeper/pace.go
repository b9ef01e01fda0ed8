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

// burst is how long Run deletes before it rests. Who has just slept comes first when the processor is shared out, so rests are
// made few: a rest after each step made puts on the same machine slower than none did (docs/benchmarks-sweep.md).
const burst = 500 * time.Millisecond

// duty keeps the share of time that is spent in steps at cycle, or below.
type duty struct {
	cycle  float64
	most   time.Duration // the longest rest
	worked time.Duration // since the last pause
	lag    time.Duration // when the last burst was over; 0: there was none, or nothing was left
}

func (d *duty) add(step time.Duration) { d.worked += step }

// rest is the pause that makes up for the work since the last one.
func (d *duty) rest() time.Duration {
	worked := d.worked
	d.worked = 0
	return min(d.most, time.Duration(float64(worked)*(1/d.cycle-1)))
}

// between is the pause after a step that has left rows, the oldest of which expired lag ago: none within a burst, nor where the
// bursts and rests so far have not brought the lag down.
func (d *duty) between(lag time.Duration) time.Duration {
	if d.worked < burst {
		return 0
	}
	before := d.lag
	d.lag = lag
	if before > 0 && lag >= before {
		d.worked = 0
		return 0
	}
	return d.rest()
}

// drained is the pause after a step that has left nothing: idle, or longer where the way to know that was long.
func (d *duty) drained(idle time.Duration) time.Duration {
	d.lag = 0
	return max(idle, d.rest())
}

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
