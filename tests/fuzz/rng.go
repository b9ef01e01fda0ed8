package fuzz

import "math/rand/v2"

// A source makes one call: the same seed and number, the same call.
type source struct{ *rand.Rand }

func newSource(seed, number uint64) source {
	return source{rand.New(rand.NewPCG(seed, number))}
}

// one is true once in n times.
func (s source) one(n int) bool { return s.IntN(n) == 0 }

func pick[T any](s source, from ...T) T { return from[s.IntN(len(from))] }

// near is a number that is at, or next to, one of the bounds, or anywhere below one.
func (s source) near(bounds ...int) int {
	b := pick(s, bounds...)
	if s.one(3) {
		return s.IntN(b + 1)
	}
	return max(0, b-1+s.IntN(3))
}

// A choice is a way to make something, taken as often as its weight says.
type choice[T any] struct {
	weight int
	make   func(source) T
}

func choose[T any](s source, choices []choice[T]) T {
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	n := s.IntN(total)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			return c.make(s)
		}
	}
	panic("not reached")
}
