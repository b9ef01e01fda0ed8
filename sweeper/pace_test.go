package sweeper

import (
	"slices"
	"testing"
	"time"
)

func TestBatch(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		size int
		took time.Duration
		full bool
		want int
	}{
		{"as long as it should", 1000, 100 * ms, true, 1000},
		{"half as long", 1000, 50 * ms, true, 2000},
		{"far too short: twice at most", 1000, ms, true, 2000},
		{"no time at all", 1000, 0, true, 2000},
		{"too long by a third", 1000, 150 * ms, true, 666},
		{"far too long: half at most", 1000, 5000 * ms, true, 500},
		{"few rows, short: says nothing", 1000, ms, false, 1000},
		{"few rows, and yet too long", 1000, 400 * ms, false, 500},
		{"the most", 9000, ms, true, 10000},
		{"the least", 150, 5000 * ms, true, 100},
	} {
		b := batch{size: c.size, least: 100, most: 10000, target: 100 * ms}
		b.took(c.took, c.full)
		if b.size != c.want {
			t.Errorf("%s: %d, want %d", c.name, b.size, c.want)
		}
	}
	b := batch{size: 301, least: 100, most: 10000}
	var sizes []int
	for range 3 {
		b.halve()
		sizes = append(sizes, b.size)
	}
	if want := []int{150, 100, 100}; !slices.Equal(sizes, want) {
		t.Errorf("halved: %v, want %v", sizes, want)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64][]time.Duration{
		0: {1, 2, 4, 8, 10, 10},
		1: {1, 1, 2, 4, 5, 5}, // half of each; a nanosecond's half is rounded up
	} {
		b := backoff{least: 1, most: 10, random: func() float64 { return random }}
		for range 2 {
			var got []time.Duration
			for range want {
				got = append(got, b.next())
			}
			if !slices.Equal(got, want) {
				t.Errorf("random %v: %v, want %v", random, got, want)
			}
			b.reset()
		}
	}
}

// A drain that begins with older rows than the one before it ended with has not fallen behind.
func TestDutyForgetsADrain(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	d := duty{cycle: 0.25, most: time.Minute}
	for _, c := range []struct {
		add, lag, want time.Duration // lag 0: drained
	}{
		{500 * ms, 2000 * ms, 1500 * ms}, {500 * ms, 1000 * ms, 1500 * ms}, // it shrinks
		{400 * ms, 0, 1200 * ms},         // drained
		{600 * ms, 5000 * ms, 1800 * ms}, // the next one
		{600 * ms, 5000 * ms, 0},         // it has not shrunk
	} {
		d.add(c.add)
		var got time.Duration
		if c.lag > 0 {
			got = d.between(c.lag)
		} else {
			got = d.drained(time.Second)
		}
		if got != c.want {
			t.Errorf("%s at work, %s behind: a pause of %s, want %s", c.add, c.lag, got, c.want)
		}
	}
}
