package quota

import (
	"sync"
	"time"
)

// tenant is one who has a quota.
type tenant struct {
	mu          sync.Mutex
	rows, bytes bound
	measured    amount
	sampled     bool
	at          time.Time // the earliest instant, by this process's clock, at which it was measured; zero: that is not known
	own         ledger
	inFlight    amount // of calls that have not come back
	gone        bool   // the quota was taken away: nothing is written down any more
}

// bound is one of a tenant's two limits.
type bound struct {
	limit   *int64 // nil: none
	blocked bool
}

// judge blocks at 100% and releases under 90%. Between them it leaves things as they are, and so does no limit block.
func (b *bound) judge(n int64) {
	switch {
	case b.limit == nil || n < *b.limit-*b.limit/10:
		b.blocked = false
	case n >= *b.limit:
		b.blocked = true
	}
}

// refuse says what is against adding need to n, of which settled is certain to be there.
func (b *bound) refuse(reason Reason, settled, n, need int64) *Error {
	switch {
	case b.limit == nil:
		return nil
	case b.blocked:
		return &Error{Reason: reason, Limit: *b.limit, Usage: settled}
	case need > *b.limit-n:
		return &Error{Reason: reason, Limit: *b.limit, Usage: n}
	}
	return nil
}

// counted is what the tenant stores as far as is known, without what is in flight.
func (t *tenant) counted() amount { return t.measured.plus(t.own.sum) }

// reserve sets need aside for a call, or says what is against it.
func (t *tenant) reserve(need amount) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled := t.counted()
	expected := settled.plus(t.inFlight)
	if refused := t.rows.refuse(ReasonRows, settled.rows, expected.rows, need.rows); refused != nil {
		return refused
	}
	if refused := t.bytes.refuse(ReasonBytes, settled.bytes, expected.bytes, need.bytes); refused != nil {
		return refused
	}
	t.inFlight = t.inFlight.plus(need)
	return nil
}

// settle ends what reserve began: record writes down what was done, in the place of need.
func (t *tenant) settle(need amount, record func(own *ledger)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return
	}
	t.inFlight = t.inFlight.minus(need)
	record(&t.own)
	t.judge()
}

// refresh takes a new reading, and tells how many keys need not be remembered any more. A write is dropped when the tenant was
// measured more than within after it.
func (t *tenant) refresh(r reading, within time.Duration) (keys int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows.limit, t.bytes.limit = r.maxRows, r.maxBytes
	t.measured, t.sampled, t.at = r.measured, r.sampled, r.at
	if !r.at.IsZero() {
		keys = t.own.cover(r.at.Add(-within))
	}
	t.judge()
	return keys
}

func (t *tenant) judge() {
	counted := t.counted()
	t.rows.judge(counted.rows)
	t.bytes.judge(counted.bytes)
}
