package linear

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A row is what a key holds; the zero row is a key without one.
type row struct {
	value   string // JSON
	version int64
	expires int64 // microseconds since 1970, 0 for forever
}

const noExpect = -1

// A call is one op on one key. With readBack a get of the key follows it, in the same call or,
// in a transaction, in the next.
type call struct {
	key      string
	op       string // of kv_apply_v1, or read, which is kv_get_v1
	value    string // of put and putIfAbsent: JSON
	ttl      int64  // microseconds, 0 for forever
	expect   int64  // noExpect for none
	delta    int64
	bounded  bool // by min and max
	min, max int64
	readBack bool
}

// An answer is what the call said, and when: its instant lies in from..to by the database's clock, in microseconds.
type answer struct {
	from, to int64
	applied  bool // of a get: found
	reason   string
	row      row
	readBack *row
}

// model is one key. Its states are rows.
var model = porcupine.Model{
	Init:              func() any { return row{} },
	Step:              func(state, input, output any) (bool, any) { return step(state.(row), input.(call), output.(answer)) },
	DescribeOperation: func(input, output any) string { return input.(call).String() + " -> " + output.(answer).String() },
	DescribeState:     func(state any) string { return state.(row).String() },
}

// step tells whether a key that holds r can give this answer to this call, and what it holds then.
func step(r row, c call, a answer) (ok bool, next row) {
	for _, seen := range r.views(a.from, a.to) {
		next, want := c.on(seen, a)
		if !want.applied && (c.op != "delete" || seen.version != 0) {
			next = r // nothing is written; but an expired row goes when it is deleted
		}
		if a.applied == want.applied && a.reason == want.reason && a.row == want.row && c.readBackIs(next, a) {
			return true, next
		}
	}
	return false, r
}

// views are the ways in which a call can see the row, as its instant lies before the expiry or not before it.
func (r row) views(from, to int64) (views []row) {
	if r.version != 0 && (r.expires == 0 || r.expires > from) {
		views = append(views, r)
	}
	if r.version == 0 || r.expires != 0 && r.expires <= to {
		views = append(views, row{})
	}
	return views
}

// on is the contract of one op: what a key that is seen like this holds then if the op applies, and the answer. What only the
// answer can tell is taken from it where it may be so: a new version, and the instant to which the time to live was added.
func (c call) on(seen row, a answer) (next row, want answer) {
	if c.op == "get" || c.op == "read" {
		return seen, answer{applied: seen.version != 0, row: seen}
	}
	if reason := c.lost(seen); reason != "" {
		return seen, answer{reason: reason, row: seen}
	}
	next = seen
	switch c.op {
	case "put", "putIfAbsent":
		next = row{value: c.value, version: c.drawn(seen, a), expires: c.until(a)}
	case "incr":
		next.value, next.version = strconv.FormatInt(seen.number()+c.delta, 10), c.drawn(seen, a)
		if seen.version == 0 { // a live key keeps its own expiry
			next.expires = c.until(a)
		}
	case "touch":
		next.expires = c.until(a)
	case "delete":
		return row{}, answer{applied: true, row: seen}
	}
	return next, answer{applied: true, row: next}
}

// lost is the reason why the op doesn't apply, "" when it does. A key that isn't alive has version 0.
func (c call) lost(seen row) string {
	dead := seen.version == 0
	expect := c.expect
	switch {
	case c.op == "incr":
		sum := seen.number() + c.delta
		switch {
		case !dead && !seen.isNumber():
			return "type"
		case c.bounded && (c.delta > 0 && sum > c.max || c.delta < 0 && sum < c.min):
			return "limit"
		}
		return ""
	case c.op == "putIfAbsent":
		expect = 0
	case dead && (c.op == "touch" || c.op == "delete" && expect == noExpect):
		return "absent"
	}
	switch {
	case c.op == "touch" && expect == 0:
		return "exists" // it never applies
	case expect == noExpect || expect == seen.version:
		return ""
	case dead:
		return "absent"
	case expect == 0:
		return "exists"
	}
	return "version"
}

// drawn is the new version, which only the answer knows. That it was never given before is checked over all the history.
func (c call) drawn(seen row, a answer) int64 {
	if a.row.version <= 0 || a.row.version == seen.version {
		return -1 // no answer's
	}
	return a.row.version
}

// until is the expiry that the call stamped: its time to live after an instant of the call.
func (c call) until(a answer) int64 {
	if c.ttl != 0 && (a.row.expires < a.from+c.ttl || a.row.expires > a.to+c.ttl) {
		return -1 // no answer's
	}
	if c.ttl == 0 {
		return 0
	}
	return a.row.expires
}

// readBackIs: the call's get sees what its write left. Of a write that touched no row it proves nothing, since
// in READ COMMITTED another call may come in between.
func (c call) readBackIs(next row, a answer) bool {
	return a.readBack == nil || !a.applied || a.row.version == 0 || *a.readBack == next
}

func (r row) isNumber() bool { return r.version != 0 && !strings.HasPrefix(r.value, `"`) }

// number is 0 for a key that isn't alive or holds no number.
func (r row) number() int64 {
	if !r.isNumber() {
		return 0
	}
	n, err := strconv.ParseInt(r.value, 10, 64)
	if err != nil {
		return 0 // no client writes such a number
	}
	return n
}

func (r row) String() string {
	if r.version == 0 {
		return "nothing"
	}
	until := "forever"
	if r.expires != 0 {
		until = "until " + clock(r.expires)
	}
	return fmt.Sprintf("%s version %d %s", r.value, r.version, until)
}

func (c call) String() string {
	s := c.op
	switch c.op {
	case "put", "putIfAbsent":
		s += " " + c.value
	case "incr":
		s += fmt.Sprintf(" by %d", c.delta)
		if c.bounded {
			s += fmt.Sprintf(" within %d..%d", c.min, c.max)
		}
	}
	if c.ttl != 0 {
		s += fmt.Sprintf(" for %v", time.Duration(c.ttl)*time.Microsecond)
	}
	if c.expect != noExpect {
		s += fmt.Sprintf(" expect %d", c.expect)
	}
	return s
}

func (a answer) String() string {
	s := "applied"
	if !a.applied {
		s = "not applied " + a.reason
	}
	s += fmt.Sprintf(": %v, seen %s..%s", a.row, clock(a.from), clock(a.to))
	if a.readBack != nil {
		s += fmt.Sprintf(", then read %v", *a.readBack)
	}
	return s
}

func clock(micros int64) string { return time.UnixMicro(micros).UTC().Format("05.000000") }
