package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Version is one that the model gave, from 1; 0 is that of no row.
type Version int64

// An Instant is a p_now in microseconds since 1970.
type Instant int64

// Infinity stands for the timestamp infinity.
const Infinity = Instant(1<<63 - 1)

// First and End bound the instants that a call may have: the years 1 to 9899.
var (
	First = Instant(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	End   = Instant(time.Date(9900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
)

func (t Instant) ok() bool { return First <= t && t < End }

// String is the instant as results show it.
func (t Instant) String() string {
	u := time.UnixMicro(int64(t)).UTC()
	switch {
	case t == Infinity:
		return "infinity"
	case t < First: // of no result
		return fmt.Sprintf("%04d-%s BC", 1-u.Year(), u.Format("01-02T15:04:05.000000Z"))
	}
	return u.Format("2006-01-02T15:04:05.000000Z")
}

// A Call is one of kv_apply_v1.
type Call struct {
	Ops    any    // a []any, unless the caller errs
	Tenant string // empty: NULL
	Now    Instant
	InWire bool
}

// An ID is a key's identity within a tenant.
type ID struct{ Namespace, Key string }

func (x ID) compare(y ID) int {
	if c := strings.Compare(x.Namespace, y.Namespace); c != 0 {
		return c
	}
	return strings.Compare(x.Key, y.Key)
}

// A Row is what lies in the table, live or not.
type Row struct {
	Value            any
	Version          Version
	Expires          *Instant // nil: for ever
	Created, Updated Instant
}

// Live tells whether the key exists: it has no expiry, or one strictly later than now.
func (r Row) Live(now Instant) bool { return r.Expires == nil || *r.Expires > now }

// expiresAt is what results show of the expiry.
func (r Row) expiresAt() any {
	if r.Expires == nil {
		return nil
	}
	return r.Expires.String()
}

// A Store holds the rows of all tenants.
type Store struct {
	Limits  Limits
	tenants map[string]map[ID]Row
	issued  Version
}

// New is an empty store.
func New(l Limits) *Store { return &Store{Limits: l, tenants: map[string]map[ID]Row{}} }

// Rows are a tenant's, to be read alone.
func (s *Store) Rows(tenant string) map[ID]Row { return s.tenants[tenant] }

// Sweep removes the rows of all tenants that are not alive. No call at that instant or later answers anything else for it.
func (s *Store) Sweep(now Instant) {
	for _, rows := range s.tenants {
		maps.DeleteFunc(rows, func(_ ID, r Row) bool { return !r.Live(now) })
	}
}

// An Event says what one op met: which outcome, where the key was in which state.
type Event struct{ Op, Outcome, State string }

// Apply makes a call. Its results are JSON objects, in which versions are of type [Version]; a
// refused call has a fault instead. The events are those that the caller gets to see.
func (s *Store) Apply(c Call) (results []any, fault *Fault, events []Event) {
	if fault := s.Limits.check(c); fault != nil {
		return nil, fault, []Event{refusal(c, fault)}
	}
	before := maps.Clone(s.tenants[c.Tenant])
	if s.tenants[c.Tenant] == nil {
		s.tenants[c.Tenant] = map[ID]Row{}
	}
	r := &run{Store: s, rows: s.tenants[c.Tenant], now: c.Now, budget: s.Limits.ReadBytes}
	ops := c.Ops.([]any)
	results = make([]any, len(ops))
	for _, i := range order(ops) {
		results[i], fault = r.one(i, ops[i].(op))
		if fault != nil {
			s.tenants[c.Tenant] = before
			return nil, fault, r.events[len(r.events)-1:]
		}
	}
	return results, nil, r.events
}

// order is the order in which ops run: those of one key by namespace, key and place, then the
// others as they stand.
func order(ops []any) []int {
	var single, sets []int
	for i := range ops {
		switch ops[i].(op)["op"] {
		case "getMany", "getPrefix":
			sets = append(sets, i)
		default:
			single = append(single, i)
		}
	}
	slices.SortStableFunc(single, func(i, j int) int { return idOf(ops[i].(op)).compare(idOf(ops[j].(op))) })
	return append(single, sets...)
}

func idOf(o op) ID { return ID{o["ns"].(string), o["key"].(string)} }

// refusal is the event of a call that failed its checks.
func refusal(c Call, f *Fault) Event {
	name := "the call"
	if f.Index >= 0 {
		name = "no op"
		if o, ok := c.Ops.([]any)[f.Index].(op); ok {
			if s, ok := o["op"].(string); ok && fields[s] != nil {
				name = s
			}
		}
	}
	return Event{name, f.Code, "any"}
}

// run is a call that runs.
type run struct {
	*Store
	rows   map[ID]Row
	now    Instant
	budget int // of value text that may be read
	events []Event
}

func (r *run) one(i int, o op) (result map[string]any, fault *Fault) {
	name := o["op"].(string)
	switch name {
	case "get":
		result = r.get(o)
	case "getMany":
		result = r.getMany(o)
	case "getPrefix":
		result = r.getPrefix(o)
	default:
		result, fault = r.write(i, o)
	}
	if fault != nil {
		return nil, fault
	}
	result["index"] = number(i)
	result["op"] = name
	return result, nil
}

func (r *run) event(o op, outcome, state string) {
	r.events = append(r.events, Event{o["op"].(string), outcome, state})
}

// state is a key's: absent, expired, live (with a number), or live with another type.
func (r *run) state(id ID) string {
	row, there := r.rows[id]
	switch {
	case !there:
		return "absent"
	case !row.Live(r.now):
		return "expired"
	case !isNumber(row.Value):
		return "other type"
	}
	return "live"
}

func number(n int) any { return jsonNumber(fmt.Sprint(n)) }
