package quota

import (
	"context"
	"errors"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// Put is kvpg.Put, refused over quota.
func (q *Enforcer) Put(ctx context.Context, db kvpg.DB, ns kvpg.Namespace, key string, value any, expiry kvpg.Expiry, opts *kvpg.PutOptions) (kvpg.Verdict, error) {
	return q.one(ctx, db, kvpg.PutOp(ns, key, value, expiry, opts))
}

// PutIfAbsent is kvpg.PutIfAbsent, refused over quota, even where it would lose.
func (q *Enforcer) PutIfAbsent(ctx context.Context, db kvpg.DB, ns kvpg.Namespace, key string, value any, expiry kvpg.Expiry, opts *kvpg.PutIfAbsentOptions) (kvpg.Verdict, error) {
	return q.one(ctx, db, kvpg.PutIfAbsentOp(ns, key, value, expiry, opts))
}

// Incr is kvpg.Incr, refused over quota, even where the counter is there.
func (q *Enforcer) Incr(ctx context.Context, db kvpg.DB, ns kvpg.Namespace, key string, delta int64, expiry kvpg.Expiry, opts *kvpg.IncrOptions) (kvpg.Verdict, error) {
	return q.one(ctx, db, kvpg.IncrOp(ns, key, delta, expiry, opts))
}

func (q *Enforcer) one(ctx context.Context, db kvpg.DB, op kvpg.Op) (kvpg.Verdict, error) {
	results, err := q.Apply(ctx, db, op)
	if err != nil {
		return kvpg.Verdict{}, err
	}
	return results[0].Verdict, nil
}

// Apply is kvpg.Apply, refused over quota when there is a put, putIfAbsent or incr among the ops; then nothing is sent, and the error is
// an *[Error]. The ops are judged together: a call whose new rows do not all fit is refused whole. Gets, deletes and touches alone are
// never refused, so keep them apart from writes that may be.
//
// What the verdicts say is counted at once. An error of kvpg means that nothing was written. After any other, a lost connection say,
// nobody knows, and the call counts as if it had been applied until a measurement tells.
func (q *Enforcer) Apply(ctx context.Context, db kvpg.DB, ops ...kvpg.Op) ([]kvpg.Result, error) {
	writes := make([]write, 0, len(ops))
	var need amount
	for i, op := range ops {
		info := op.Info()
		w := write{index: i, OpInfo: info, bytes: storedBytes(info.Value)}
		switch info.Op {
		case "put", "putIfAbsent":
		case "incr":
			w.bytes = numberBytes
		default:
			continue
		}
		need = need.plus(w.most())
		writes = append(writes, w)
	}
	if len(writes) == 0 {
		return kvpg.Apply(ctx, db, ops...)
	}
	t, err := q.admit(writes[0].Namespace.Tenant(), need)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return kvpg.Apply(ctx, db, ops...)
	}
	settled := false
	defer func() { // a handle that panics leaves it unknown too
		if !settled {
			t.settle(need, func(own *ledger) { q.record(own, writes, nil) })
		}
	}()
	results, err := kvpg.Apply(ctx, db, ops...)
	settled = true
	t.settle(need, func(own *ledger) {
		if err != nil && certain(err) {
			return
		}
		q.record(own, writes, results)
	})
	return results, err
}

// certain tells whether an error means that nothing was written: PostgreSQL or the driver said no. Where the session ended with the
// error the statement may have been committed before.
func certain(err error) bool {
	var e *kvpg.Error
	if !errors.As(err, &e) {
		return false
	}
	return !strings.HasPrefix(e.SQLState, "08") && !strings.HasPrefix(e.SQLState, "57P") && e.SQLState != "40003"
}

// A write is an op that is judged.
type write struct {
	kvpg.OpInfo
	index int // in the call
	bytes int64
}

// most is the most that a write can add.
func (w write) most() amount {
	if w.Replaces {
		return amount{0, w.bytes}
	}
	return amount{1, w.bytes}
}

// added is what a write has added at most, by its verdict. An incr whose number is not its delta has found another number there.
func (w write) added(v kvpg.Verdict) amount {
	a := w.most()
	if w.Op == "incr" {
		a.bytes = storedBytes(v.Value)
		if string(v.Value) != strconv.FormatInt(w.Delta, 10) {
			a.rows = 0
		}
	}
	return a
}

// record writes down a call's writes; results is nil where nobody knows what became of them.
func (q *Enforcer) record(own *ledger, writes []write, results []kvpg.Result) {
	now := q.opts.Now()
	for _, w := range writes {
		a := w.most()
		if results != nil {
			v := results[w.index].Verdict
			if !v.Applied {
				continue
			}
			a = w.added(v)
		}
		key := q.hash(w.Namespace.Name(), w.Key)
		if _, ok := own.keys[key]; ok {
			own.addKey(key, a, now)
		} else if q.remembered.Add(1) <= maxKeys {
			own.addKey(key, a, now)
		} else {
			q.remembered.Add(-1)
			own.add(a, now, q.spanWidth())
		}
	}
}

func (q *Enforcer) hash(namespace, key string) uint64 {
	var h maphash.Hash
	h.SetSeed(q.seed)
	_, _ = h.WriteString(namespace) // a hash never fails
	_ = h.WriteByte(0)
	_, _ = h.WriteString(key)
	return h.Sum64()
}

func (q *Enforcer) spanWidth() time.Duration { return max(q.opts.CommitWithin, q.opts.Every) / 8 }
