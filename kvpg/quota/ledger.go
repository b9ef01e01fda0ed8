package quota

import "time"

// amount is rows and the bytes of their values.
type amount struct{ rows, bytes int64 }

func (a amount) plus(b amount) amount  { return amount{a.rows + b.rows, a.bytes + b.bytes} }
func (a amount) minus(b amount) amount { return amount{a.rows - b.rows, a.bytes - b.bytes} }

// A ledger holds what this process wrote for one tenant and no measurement is known to hold yet: at most one row for each key, the
// largest of its values, and beside them what is not counted by key. It forgets nothing but by cover.
type ledger struct {
	sum   amount
	keys  map[uint64]entry
	spans []*span
}

// An entry is what was written under one key; at is when the last verdict came.
type entry struct {
	amount
	at time.Time
}

// A span sums up what was written between two instants without keys.
type span struct {
	first, last time.Time
	amount
}

// maxSpans bounds a ledger while no measurement comes.
const maxSpans = 32

// addKey counts a write under a key: a key has one row however often it is written.
func (l *ledger) addKey(key uint64, a amount, at time.Time) {
	old := l.keys[key]
	now := entry{amount{max(old.rows, a.rows), max(old.bytes, a.bytes)}, at}
	if l.keys == nil {
		l.keys = map[uint64]entry{}
	}
	l.keys[key] = now
	l.sum = l.sum.plus(now.minus(old.amount))
}

// add counts without a key. A span takes what comes within width of its beginning.
func (l *ledger) add(a amount, at time.Time, width time.Duration) *span {
	l.sum = l.sum.plus(a)
	n := len(l.spans)
	if n == 0 || at.Sub(l.spans[n-1].first) >= width {
		if n == maxSpans { // the two oldest become one, which stays as long as the younger would
			l.spans[1].amount = l.spans[1].plus(l.spans[0].amount)
			l.spans = l.spans[1:]
		}
		l.spans = append(l.spans, &span{first: at})
		n = len(l.spans)
	}
	s := l.spans[n-1]
	s.amount, s.last = s.plus(a), at
	return s
}

// giveBack takes a back from the span that it was added to, unless that is covered, or merged into a younger one.
func (l *ledger) giveBack(s *span, a amount) {
	for _, here := range l.spans {
		if here == s {
			a = amount{min(a.rows, s.rows), min(a.bytes, s.bytes)}
			s.amount, l.sum = s.minus(a), l.sum.minus(a)
		}
	}
}

// cover drops what was last written before an instant, because a measurement holds it, and tells how many keys that were.
func (l *ledger) cover(before time.Time) (keys int) {
	for key, e := range l.keys {
		if e.at.Before(before) {
			l.sum = l.sum.minus(e.amount)
			delete(l.keys, key)
			keys++
		}
	}
	kept := l.spans[:0]
	for _, s := range l.spans {
		if s.last.Before(before) {
			l.sum = l.sum.minus(s.amount)
		} else {
			kept = append(kept, s)
		}
	}
	clear(l.spans[len(kept):])
	l.spans = kept
	return keys
}
