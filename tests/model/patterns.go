package model

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
)

// The patterns of sql/patterns, on the same rows as [Store.Apply]: limiter, lease and dedupe. Their arguments are good ones; what is
// refused is no subject of the model. Answers are JSON, with a [Version] for a token.

// pattern is a call of one of them that runs.
type pattern struct {
	*run
	name string
}

func (s *Store) pattern(name, tenant string, now Instant) *pattern {
	if s.tenants[tenant] == nil {
		s.tenants[tenant] = map[ID]Row{}
	}
	return &pattern{&run{Store: s, rows: s.tenants[tenant], now: now}, name}
}

func (p *pattern) met(outcome, state string) {
	p.events = append(p.events, Event{p.name, outcome, state})
}

// write makes a new row, or a new version of one.
func (p *pattern) write(id ID, row Row) Row {
	p.issued++
	row.Version, row.Updated = p.issued, p.now
	p.rows[id] = row
	return row
}

// alive is the row of a key, if it is.
func (p *pattern) alive(id ID) (Row, bool) {
	row, there := p.rows[id]
	if !there || !row.Live(p.now) {
		return Row{}, false
	}
	return row, true
}

func (t Instant) plus(ms int64) *Instant { at := t + Instant(ms*1000); return &at }

// micros is an instant as the tests ask for it.
func micros(t *Instant) any {
	if t == nil {
		return nil
	}
	return jsonNumber(big.NewInt(int64(*t)).String())
}

// Limit is kv_limiter_v1: [allowed, reason, remaining, reset] for each position. costs nil: 1 each.
func (s *Store) Limit(tenant, ns string, keys []string, costs []int64, limit, windowMs int64, now Instant) (answer []any, events []Event) {
	p := s.pattern("limiter", tenant, now)
	answer = []any{}
	for i, key := range keys {
		cost := int64(1)
		if costs != nil {
			cost = costs[i]
		}
		answer = append(answer, p.hit(ID{ns, key}, cost, limit, windowMs))
	}
	return answer, p.events
}

func (p *pattern) hit(id ID, cost, limit, windowMs int64) any {
	state := p.state(id)
	row, live := p.alive(id)
	asks := ""
	if cost == 0 {
		asks = "asks, "
	}
	if live && !isNumber(row.Value) {
		p.met(asks+"type", state)
		return []any{false, "type", jsonNumber("0"), micros(row.Expires)}
	}
	used := decimal{new(big.Int), 0}
	if live {
		used = parseDecimal(row.Value.(json.Number).String())
	}
	after := used.add(decimal{big.NewInt(cost), 0})
	if after.cmp(decimal{big.NewInt(limit), 0}) > 0 {
		p.met(asks+"limit", state)
		return []any{false, "limit", left(limit, used), micros(row.Expires)}
	}
	p.met(asks+"allowed", state)
	if cost > 0 {
		if !live {
			row = Row{Created: p.now, Expires: p.now.plus(windowMs)}
		}
		row.Value = jsonNumber(after.trim().String())
		row = p.write(id, row)
	}
	return []any{true, nil, left(limit, after), micros(row.Expires)}
}

// left is how many whole ones a limit leaves.
func left(limit int64, used decimal) any {
	free := decimal{big.NewInt(limit), 0}.add(decimal{new(big.Int).Neg(used.n), used.scale})
	n := new(big.Int).Div(free.n, pow10(free.scale)) // towards minus infinity, for a divisor above 0
	switch {
	case n.Sign() < 0:
		n = new(big.Int)
	case !n.IsInt64():
		n = big.NewInt(math.MaxInt64)
	}
	return jsonNumber(n.String())
}

// Acquire is kv_lease_acquire_v1: [acquired, token, owner, expires].
func (s *Store) Acquire(tenant, ns, key, owner string, ttlMs int64, now Instant) (answer any, events []Event) {
	p := s.pattern("acquire", tenant, now)
	id := ID{ns, key}
	state := p.state(id)
	if row, live := p.alive(id); live {
		p.met("refused", state)
		return []any{false, nil, asText(row.Value), micros(row.Expires)}, p.events
	}
	p.met("acquired", state)
	row := p.write(id, Row{Value: owner, Created: now, Expires: now.plus(ttlMs)})
	return []any{true, row.Version, owner, micros(row.Expires)}, p.events
}

// asText is what ->> gives of a value.
func asText(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return v
	}
	return text(v)
}

// held is the row of a lease that has the token and is alive.
func (p *pattern) held(id ID, token Version) (row Row, held bool) {
	state := p.state(id)
	row, live := p.alive(id)
	if live && row.Version == token {
		p.met("held", state)
		return row, true
	}
	p.met("lost", state)
	return Row{}, false
}

// Renew is kv_lease_renew_v1: when the lease ends, nil when it is lost.
func (s *Store) Renew(tenant, ns, key string, token Version, ttlMs int64, now Instant) (answer any, events []Event) {
	p := s.pattern("renew", tenant, now)
	row, held := p.held(ID{ns, key}, token)
	if held {
		row.Expires = now.plus(ttlMs) // and nothing else
		p.rows[ID{ns, key}] = row
	}
	return micros(row.Expires), p.events
}

// Guard is kv_lease_guard_v1: when the lease ends; lost, it raises kv_lease_lost.
func (s *Store) Guard(tenant, ns, key string, token Version, now Instant) (answer any, events []Event) {
	p := s.pattern("guard", tenant, now)
	row, held := p.held(ID{ns, key}, token)
	if !held {
		return "55000 kv_lease_lost", p.events
	}
	return micros(row.Expires), p.events
}

// Release is kv_lease_release_v1: whether it was held. A row whose time is over goes away with any delete.
func (s *Store) Release(tenant, ns, key string, token Version, now Instant) (answer any, events []Event) {
	p := s.pattern("release", tenant, now)
	id := ID{ns, key}
	_, held := p.held(id, token)
	if _, live := p.alive(id); held || !live {
		delete(p.rows, id)
	}
	return held, p.events
}

// Dedupe is kv_dedupe_v1: whether each key is new.
func (s *Store) Dedupe(tenant, ns string, keys []string, ttlMs int64, now Instant) (answer []any, events []Event) {
	p := s.pattern("dedupe", tenant, now)
	answer = []any{}
	for i, key := range keys {
		id := ID{ns, key}
		state := p.state(id)
		_, seen := p.alive(id)
		answer = append(answer, !seen)
		switch {
		case slices.Contains(keys[:i], key):
			p.met("repeat", state)
		case seen:
			p.met("seen", state)
		default:
			p.met("new", state)
			p.write(id, Row{Value: true, Created: now, Expires: now.plus(ttlMs)})
		}
	}
	return answer, p.events
}
