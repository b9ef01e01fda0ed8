package quota

import (
	"slices"
	"strings"
	"time"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/quota"
)

// A world is one table, what a sweeper measured of it, and the processes that write to it, on a clock that the test moves. Every
// transaction ends within commitWithin of its verdict, and holds its key until then.
type world struct {
	now       time.Duration
	skew      time.Duration // of the server's clock
	limit     line          // its MaxRows and MaxBytes
	rows      map[string]int64
	open      []*transaction
	step      *measurement // that is being made
	published *measurement // the last; nil: none
	measured  int          // how many there were
	processes []*process
	slow      func() time.Duration // how long a part of a reading takes
}

const commitWithin = 30 * time.Second

type transaction struct {
	key    string
	bytes  int64 // -1: the key is deleted
	ends   time.Duration
	commit bool
}

type measurement struct {
	id          int
	at          time.Duration // by the server's clock
	rows, bytes int64
}

// A process is one enforcer, with a clock of its own.
type process struct {
	*quota.Enforcer
	db   *fake
	seen int // the measurement that its last reading told of; 0: none

	// What it went by at its last write that was allowed; admitted is false while there was none.
	admitted              bool
	by                    int
	roomRows, roomBytes   int64
	allowed, refusedCalls int
}

func (w *world) clock(offset time.Duration) time.Time { return start.Add(w.now + offset) }

// advance moves the clock, and ends each transaction in its time.
func (w *world) advance(d time.Duration) {
	until := w.now + d
	for {
		next := -1
		for i, tx := range w.open {
			if tx.ends <= until && (next < 0 || tx.ends < w.open[next].ends) {
				next = i
			}
		}
		if next < 0 {
			w.now = until
			return
		}
		w.now = max(w.now, w.open[next].ends)
		w.end(next)
	}
}

func (w *world) end(i int) {
	tx := w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
	switch {
	case !tx.commit:
	case tx.bytes < 0:
		delete(w.rows, tx.key)
	default:
		w.rows[tx.key] = tx.bytes
	}
}

func (w *world) locked(key string) bool {
	return slices.ContainsFunc(w.open, func(tx *transaction) bool { return tx.key == key })
}

func (w *world) total() (rows, bytes int64) {
	for _, b := range w.rows {
		rows, bytes = rows+1, bytes+b
	}
	return rows, bytes
}

// measure takes the next step of a measurement: the clock, the snapshot, the commit.
func (w *world) measure() {
	switch {
	case w.step == nil:
		w.measured++
		w.step = &measurement{id: w.measured, at: w.now + w.skew, rows: -1}
	case w.step.rows < 0:
		w.step.rows, w.step.bytes = w.total()
	default:
		w.published, w.step = w.step, nil
	}
}

// reading is what kv_quota_refresh_v1 answers: a snapshot, and then the server's clock.
func (w *world) reading(p *process) ([]line, error) {
	w.advance(w.slow())
	l := w.limit
	l.Tenant = tenantText(things.Tenant())
	seen := 0
	if m := w.published; m != nil {
		seen, l.Rows, l.Bytes = m.id, m.rows, m.bytes
		w.advance(w.slow())
		age := (w.now + w.skew - m.at).Microseconds()
		l.Age = &age
	}
	w.advance(w.slow())
	p.seen = seen
	return []line{l}, nil
}

// write makes a process try one op, in a transaction that ends after some time.
func (w *world) write(p *process, kind, key string, size int, lasts time.Duration, commit bool) error {
	p.db.apply = func(ops []map[string]any) ([]map[string]any, error) {
		_, there := w.rows[key]
		result := map[string]any{"op": kind, "key": key, "applied": true, "version": 1, "value": ops[0]["value"]}
		bytes := int64(8 + 16 + size + 2) // what the enforcer makes of a string of so many characters
		switch {
		case kind == "delete" && there:
			bytes = -1
		case kind == "delete" || kind == "putIfAbsent" && there:
			result["applied"] = false
			return []map[string]any{result}, nil
		}
		w.open = append(w.open, &transaction{key, bytes, w.now + lasts, commit})
		return []map[string]any{result}, nil
	}
	value := strings.Repeat("x", size)
	op := kvpg.PutOp(things, key, value, kvpg.Forever(), nil)
	switch kind {
	case "delete":
		op = kvpg.DeleteOp(things, key, nil)
	case "putIfAbsent":
		op = kvpg.PutIfAbsentOp(things, key, value, kvpg.Forever(), nil)
	}
	_, err := p.Apply(ctx, p.db, op)
	if err != nil {
		p.refusedCalls++
		return err
	}
	if kind != "delete" {
		u, _ := p.Usage(things.Tenant())
		p.allowed++
		p.admitted, p.by = true, p.seen
		p.roomRows, p.roomBytes = room(u.MaxRows, u.MeasuredRows), room(u.MaxBytes, u.MeasuredBytes)
	}
	w.advance(0) // a transaction that lasts no time ends here
	return nil
}

func room(limit *int64, measured int64) int64 {
	if limit == nil {
		return 0
	}
	return max(0, *limit-measured)
}

// bound is the most that the package's documentation allows: the limit, and the room that each process saw, but for the one that saw the
// latest measurement.
func (w *world) bound() (rows, bytes int64) {
	latest := -1
	for i, p := range w.processes {
		if p.admitted && (latest < 0 || p.by > w.processes[latest].by) {
			latest = i
		}
	}
	rows, bytes = *w.limit.MaxRows, *w.limit.MaxBytes
	for i, p := range w.processes {
		if p.admitted && i != latest {
			rows, bytes = rows+p.roomRows, bytes+p.roomBytes
		}
	}
	return rows, bytes
}
