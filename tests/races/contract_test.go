// Package races plays two sessions against each other, for every race of the contract.
//
// The matrix (matrix_test.go) is made of cells. In a cell session A has done something to a key
// and not committed when session B calls; A then commits or rolls back. What must come out is
// worked out by this file, from the contract and not from the SQL: the ops as functions of one
// row (op.on), and what two sessions make of them (cell.expect). The other tests are of Once, of
// lock order, of put batches, and of many sessions at one key.
//
// Nothing sleeps and hopes: a wait is looked for in pg_stat_activity, and must be a wait for A.
package races

import (
	"math"
	"strconv"
)

// An instant is a number of seconds after the moment at which the cells' rows were made.
type instant int

const (
	seeded    instant = 0
	expiredAt instant = 10
	nowA      instant = 20 // p_now of session A
	nowB      instant = 30 // p_now of session B
	liveUntil instant = 1000
	forever   instant = math.MaxInt
)

// A row is what a key holds, live or not; the zero row is a key without one. Versions are
// names: "v0" is the seeded row's, "vA" and "vB" are drawn by the sessions, "0" means not alive.
type row struct {
	value, version            string
	expires, created, updated instant
}

// live is existence as of now: a row that expires at now is gone.
func (r row) live(now instant) bool { return r.value != "" && r.expires > now }

// Values that stand for the markers of Once, whose form is nobody's business.
const (
	pendingMarker = "a pending marker"
	doneMarker    = "a finished marker"
	onceResult    = "the answer"
)

// An op is one op of kv_apply_v1, kv_once_begin_v1 ("once"; "onceRun" is followed by its end) or
// the removal of an expired row by a sweeper ("prune").
type op struct {
	name     string
	value    string  // of a put: JSON
	ttl      instant // 0 is forever
	expect   string  // a version's name, or "" for no precondition
	delta    int
	min, max *int
	required bool
	batch    bool // in one call with puts of two other keys
	busy     bool // of once: p_wait false
}

// A verdict is the answer to an op; err is the SQLSTATE when there is an error instead.
type verdict struct {
	applied        bool
	reason         string
	value, version string
	expires        instant
	err            string
}

// on is the contract of one op without anybody beside it: the answer for a key that holds r, and
// what the key holds then. drawn is the version that the op draws when it writes.
func (o op) on(r row, now instant, drawn string) (verdict, row) {
	alive := r
	if !r.live(now) {
		alive = row{value: "null", version: "0", expires: forever} // an expired row is as good as none
	}
	if o.name == "once" || o.name == "onceRun" {
		return o.once(r, alive, now, drawn)
	}
	if reason := o.lost(alive); reason != "" {
		v := verdict{reason: reason, value: alive.value, version: alive.version, expires: alive.expires}
		if o.required {
			v.err, v.expires = "23514", forever // its DETAIL has no expiry
		}
		if o.name == "delete" && !r.live(now) {
			r = row{} // an expired row goes, whatever the verdict
		}
		return v, r
	}
	next := r
	if !r.live(now) {
		next = row{created: now, expires: o.until(now)} // a new lineage
	}
	switch o.name {
	case "put", "putIfAbsent":
		next.value, next.version, next.expires, next.updated = o.value, drawn, o.until(now), now
	case "incr": // a live key keeps its expiry
		next.value, next.version, next.updated = strconv.Itoa(number(alive)+o.delta), drawn, now
	case "touch":
		next.expires = o.until(now)
	case "delete": // shows what was deleted
		return verdict{applied: true, value: alive.value, version: alive.version, expires: alive.expires}, row{}
	case "prune":
		return verdict{applied: true}, row{}
	}
	return verdict{applied: true, value: next.value, version: next.version, expires: next.expires}, next
}

// lost is the reason why the op doesn't apply to a key where alive is alive, "" when it does.
func (o op) lost(alive row) string {
	dead := alive.version == "0"
	switch {
	case o.name == "prune":
		if !dead {
			return "exists"
		}
		return ""
	case o.name == "incr":
		sum := number(alive) + o.delta
		switch {
		case !dead && !isNumber(alive.value):
			return "type"
		case o.max != nil && o.delta > 0 && sum > *o.max, o.min != nil && o.delta < 0 && sum < *o.min:
			return "limit"
		}
		return ""
	case dead && (o.name == "touch" || o.name == "delete" && o.expect == ""):
		return "absent"
	}
	expect := o.expect
	if o.name == "putIfAbsent" {
		expect = "0"
	}
	switch {
	case expect == "" || expect == alive.version:
		return ""
	case dead:
		return "absent"
	case expect == "0":
		return "exists"
	}
	return "version"
}

// once is kv_once_begin_v1: a live marker answers, anything else alive is foreign to it, and where
// nothing is alive the caller is to run.
func (o op) once(r, alive row, now instant, drawn string) (verdict, row) {
	switch {
	case alive.value == doneMarker:
		return verdict{reason: "replay", value: onceResult}, r
	case alive.value == pendingMarker:
		return verdict{reason: "unfinished"}, r
	case alive.version != "0":
		return verdict{reason: "foreign"}, r
	}
	next := row{value: pendingMarker, version: drawn, expires: o.until(now), created: now, updated: now}
	if o.name == "onceRun" {
		next.value = doneMarker
	}
	return verdict{applied: true, reason: "run", version: drawn}, next
}

func (o op) until(now instant) instant {
	if o.ttl == 0 {
		return forever
	}
	return now + o.ttl
}

func isNumber(value string) bool { _, err := strconv.Atoi(value); return err == nil }

// number is what an incr starts from: 0 where nothing is alive.
func number(alive row) int {
	n, _ := strconv.Atoi(alive.value)
	return n
}
