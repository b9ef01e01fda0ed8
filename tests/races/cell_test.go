package races

import (
	"fmt"
	"slices"
)

const (
	readCommitted  = "read committed"
	repeatableRead = "repeatable read"
	serializable   = "serializable"
)

// How A's transaction ends. With before, A has committed when B calls, but B's snapshot is older;
// that is a race only above READ COMMITTED. With between, A writes and commits when B has read the
// row and is about to write. B is held there by a lock on the sequence that it draws its version
// from, which A lets go with its commit, so that nobody waits for the row.
const (
	commits   = "commits"
	rollsBack = "rolls back"
	before    = "has committed"
	between   = "commits after B's look"
)

var ends = []string{commits, rollsBack, before, between}

// A cell is one race: a key, what B calls, what A has done, how A ends, and the isolation of both.
type cell struct {
	key       state
	b         subject
	a         concurrent
	end       string
	isolation string
}

type (
	state struct {
		name string
		row  row
	}
	subject struct {
		name string
		op   op
	}
	concurrent struct {
		name string
		ops  []op
		over string // if not empty, the only state that the name makes sense with
	}
)

func (c cell) String() string {
	return fmt.Sprintf("%s of a key that is %s, beside %s that %s, %s", c.b.name, c.key.name, c.a.name, c.end, c.isolation)
}

// A want is what a cell must come to.
type want struct {
	verdict verdict
	row     row // committed at the end
	waits   bool
	free    bool   // B loses, or applies, without having taken anything: no lock, no transaction id, no version
	why     string // it can't wait
}

// Why a cell can't wait for A.
const (
	lostLive   = "loses on the committed live row that it reads, and takes no lock"
	toldBusy   = "is told that A is at it"
	lostAbsent = "loses on a key with nothing alive, and there is no row to take away"
	noRow      = "applies to a key without a row, and changes nothing"
	tooLate    = "A has committed already"
)

// expect says what two sessions must come to. B writes when its op would change what it reads.
// Then it meets A's uncommitted change and waits: in READ COMMITTED it decides again on what
// there is after the wait, above it the transaction is lost when A commits. When B would write
// nothing it answers from what is committed, or in its snapshot, and waits for nobody.
func (c cell) expect() want {
	committed := c.key.row // what A leaves
	if c.end != rollsBack {
		committed = c.a.after(c.key.row)
	}
	alone, next := c.b.op.on(c.key.row, nowB, "vB")
	if next == c.key.row {
		return want{verdict: alone, row: committed, free: true, why: c.whyFree(alone)}
	}
	if c.b.op.busy && c.a.runsOnce() && c.end != before {
		return want{verdict: verdict{reason: "busy"}, row: committed, free: true, why: toldBusy}
	}
	w := want{waits: c.end != before}
	if !w.waits {
		w.why = tooLate
	}
	if c.isolation != readCommitted && c.end != rollsBack {
		w.verdict, w.row = verdict{err: "40001"}, committed
		return w
	}
	w.verdict, w.row = c.b.op.on(committed, nowB, "vB")
	return w
}

func (c cell) whyFree(v verdict) string {
	switch {
	case v.applied:
		return noRow
	case c.key.row.live(nowB):
		return lostLive
	}
	return lostAbsent
}

// after is what a key that held r holds when A has done its ops.
func (a concurrent) after(r row) row {
	for _, o := range a.ops {
		_, r = o.on(r, nowA, "vA")
	}
	return r
}

// runsOnce tells whether A is between the begin of Once and its commit.
func (a concurrent) runsOnce() bool {
	return slices.ContainsFunc(a.ops, func(o op) bool { return o.name == "once" || o.name == "onceRun" })
}

// makesSense leaves out the cells in which A writes nothing, and those that would be told twice.
func (c cell) makesSense() bool {
	if c.a.over != "" && c.a.over != c.key.name || c.a.after(c.key.row) == c.key.row {
		return false
	}
	if c.end == before && c.isolation == readCommitted {
		return false
	}
	if v, _ := c.b.op.on(c.key.row, nowB, "vB"); c.end == between && (v.version != "vB" || c.b.op.busy && c.a.runsOnce()) {
		return false // B draws no version; or the lock of a Busy caller that runs would stop A
	}
	if c.a.name == "a decrease" && c.b.op.name != "incr" || c.a.name == "a put among others" && c.isolation != readCommitted {
		return false // nothing new: above READ COMMITTED a batch is its ops, one after the other
	}
	switch c.key.name {
	case "a live string", "an expired string":
		return c.b.op.name == "incr"
	case "a live marker", "an expired marker":
		return c.b.op.name == "once"
	}
	return true
}

func seed(value string, expires instant) row {
	return row{value: value, version: "v0", expires: expires, created: seeded, updated: seeded}
}

var states = []state{
	{"live", seed("5", liveUntil)},
	{"expired", seed("5", expiredAt)},
	{"absent", row{}},
	{"a live string", seed(`"s"`, forever)},
	{"an expired string", seed(`"s"`, expiredAt)},
	{"a live marker", seed(doneMarker, liveUntil)},
	{"an expired marker", seed(doneMarker, expiredAt)},
}

var subjects = []subject{
	{"put", op{name: "put", value: "11", ttl: 700}},
	{"put among others", op{name: "put", value: "11", batch: true}},
	{"put expect N", op{name: "put", value: "11", ttl: 700, expect: "v0"}},
	{"put expect N required", op{name: "put", value: "11", ttl: 700, expect: "v0", required: true}},
	{"put expect another", op{name: "put", value: "11", ttl: 700, expect: "other"}},
	{"put expect 0", op{name: "put", value: "11", expect: "0"}},
	{"putIfAbsent", op{name: "putIfAbsent", value: "11", ttl: 700}},
	{"putIfAbsent required", op{name: "putIfAbsent", value: "11", ttl: 700, required: true}},
	{"delete", op{name: "delete"}},
	{"delete expect N", op{name: "delete", expect: "v0"}},
	{"delete expect 0", op{name: "delete", expect: "0"}},
	{"incr", op{name: "incr", delta: 1, ttl: 700}},
	{"incr in bounds", op{name: "incr", delta: 1, ttl: 700, min: new(0), max: new(1000)}},
	{"incr at max", op{name: "incr", delta: 1, ttl: 700, max: new(5)}},
	{"incr to max", op{name: "incr", delta: 1, ttl: 700, max: new(6)}},
	{"incr down to min", op{name: "incr", delta: -2, ttl: 700, min: new(3)}},
	{"touch", op{name: "touch", ttl: 700}},
	{"touch expect N", op{name: "touch", expect: "v0"}},
	{"touch expect 0", op{name: "touch", ttl: 700, expect: "0"}},
	{"Once", op{name: "once", ttl: 700}},
	{"Once, Busy", op{name: "once", ttl: 700, busy: true}},
}

var concurrents = []concurrent{
	{"a put", []op{{name: "put", value: "7", ttl: 500}}, "live"},
	{"a put", []op{{name: "put", value: "7", ttl: 500}}, "absent"},
	{"a put", []op{{name: "put", value: "7", ttl: 500}}, "a live string"},
	{"a put", []op{{name: "put", value: "7", ttl: 500}}, "a live marker"},
	{"a put among others", []op{{name: "put", value: "7", batch: true}}, ""},
	{"a put of a string", []op{{name: "put", value: `"t"`}}, ""},
	{"a put that is dead when B looks", []op{{name: "put", value: "7", ttl: 5}}, ""},
	{"a delete", []op{{name: "delete"}}, ""},
	{"a delete and a put", []op{{name: "delete"}, {name: "put", value: "7", ttl: 500}}, ""},
	{"an incr", []op{{name: "incr", delta: 1, ttl: 500}}, ""},
	{"a decrease", []op{{name: "incr", delta: -1, ttl: 500}}, ""},
	{"a touch", []op{{name: "touch", ttl: 500}}, ""},
	{"a touch that ends before B looks", []op{{name: "touch", ttl: 5}}, ""},
	{"a resurrection", []op{{name: "put", value: "7", ttl: 500}}, "expired"},
	{"a resurrection", []op{{name: "put", value: "7", ttl: 500}}, "an expired string"},
	{"a resurrection", []op{{name: "put", value: "7", ttl: 500}}, "an expired marker"},
	{"a pruning", []op{{name: "prune"}}, ""},
	{"Once", []op{{name: "onceRun", ttl: 500}}, ""},
	{"a pruning and Once", []op{{name: "prune"}, {name: "onceRun", ttl: 500}}, "expired"},
	{"Once without end", []op{{name: "once", ttl: 500}}, ""},
}
