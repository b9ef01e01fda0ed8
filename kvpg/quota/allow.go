package quota

import "github.com/queenkv/queenkv/kvpg"

// Grant is what [Enforcer.Allow] allowed. The zero Grant is of a tenant whom nothing bounds.
type Grant struct {
	tenant *tenant
	span   *span
}

// Allow is for what writes otherwise than by Apply: Once, Dedupe, SQL of your own. It is refused as a write would be; else rows, and
// the bytes of their values, count at once, for the tenant of ns. They count until a measurement was made CommitWithin after this call,
// so call it just before the write. Negative numbers panic.
func (q *Enforcer) Allow(ns kvpg.Namespace, rows, bytes int64) (Grant, error) {
	need := amount{rows, bytes}
	need.check()
	t, err := q.admit(ns.Tenant(), need)
	if t == nil || err != nil {
		return Grant{}, err
	}
	g := Grant{tenant: t}
	t.settle(need, func(own *ledger) { g.span = own.add(need, q.opts.Now(), q.spanWidth()) })
	return g, nil
}

// GiveBack takes back what was allowed and not written: what was a replay, or no new key, or rolled back. Without it the tenant
// is charged until that measurement, and no longer. Negative numbers panic.
func (g Grant) GiveBack(rows, bytes int64) {
	a := amount{rows, bytes}
	a.check()
	if g.tenant != nil {
		g.tenant.settle(amount{}, func(own *ledger) { own.giveBack(g.span, a) })
	}
}

func (a amount) check() {
	if a.rows < 0 || a.bytes < 0 {
		panic("kvpg/quota: a negative number of rows or bytes")
	}
}
