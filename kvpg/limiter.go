package kvpg

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LimitVerdict says whether a cost fitted into its window.
type LimitVerdict struct {
	// Allowed: the cost fitted and was taken. Else nothing was taken.
	Allowed bool

	// Reason is empty when allowed, ReasonLimit when too little was left, and ReasonType when the key holds something that is
	// no counter.
	Reason Reason

	// Remaining is what the window has left after this verdict.
	Remaining int64

	// ResetAt is when the window closes and the whole limit is there again, by the database's clock. It is zero when no window
	// is open (only a first cost above the limit, or a cost of 0, leaves it so) and for a counter that lives forever.
	ResetAt time.Time

	// ResetIn is the time from the answer to ResetAt, measured by the database's clock alone, which this machine's need not
	// agree with: for a Retry-After. It is 0 where ResetAt is zero.
	ResetIn time.Duration
}

// Hit is a cost for one key of [LimitMany].
type Hit struct {
	Key string

	// Cost is what to take, 0 to ask without taking.
	Cost int64
}

const limitSQL = `select json_agg(json_build_object('allowed', allowed, 'reason', coalesce(reason, ''), 'remaining', remaining,
         'reset', (extract(epoch from reset_at) * 1000000)::bigint,
         'in', greatest((extract(epoch from reset_at - clock_timestamp()) * 1000000)::bigint, 0)) order by ordinality)::text
  from queen.kv_limiter_v1($1::text, $2::text[], $3::bigint[], $4::bigint, $5::bigint, $6::uuid)`

// Limit takes cost from key's window, if limit leaves so much:
//
//	v, err := kvpg.Limit(ctx, pool, rates, user, 1, 100, time.Minute)
//	if err == nil && !v.Allowed { ... too many, until v.ResetAt }
//
// The window is a fixed one: it opens with the first hit and closes window later, whatever happens meanwhile; around its end up to
// twice the limit can pass within one window's length. A refused cost consumes nothing. A cost of 0 asks and writes
// nothing. The state is a counter, the same row that [Incr] makes: Delete it to open a new window.
//
// In a transaction of the caller's, an allowed hit holds the key until that ends, and everybody else who is allowed waits; so give it a
// pool, where it is a transaction of its own, unless a rollback has to give the cost back. window is rounded up to milliseconds.
// A cost or a limit below 0 is [ErrBadNumber].
func Limit(ctx context.Context, db DB, ns Namespace, key string, cost, limit int64, window time.Duration) (LimitVerdict, error) {
	verdicts, err := LimitMany(ctx, db, ns, []Hit{{key, cost}}, limit, window)
	if err != nil {
		return LimitVerdict{}, err
	}
	return verdicts[0], nil
}

// LimitMany is [Limit] for up to 4,096 hits in one call, with one limit and window; it gives a verdict for each, in their order. Of
// hits on one key each sees those before it. Some may be allowed and others not: all or nothing is a transaction that the caller
// rolls back. The keys are locked in one order, so that such calls are in no deadlock with each other.
//
// With no hits LimitMany gives nil without asking the database. More than 4,096 are refused ([ErrTooManyKeys]).
func LimitMany(ctx context.Context, db DB, ns Namespace, hits []Hit, limit int64, window time.Duration) ([]LimitVerdict, error) {
	keys, costs := make([]string, len(hits)), make([]string, len(hits))
	for i, hit := range hits {
		keys[i], costs[i] = hit.Key, strconv.FormatInt(hit.Cost, 10)
	}
	ms, fault := checkList(ns, keys, window)
	switch {
	case fault != nil:
		return nil, fault
	case slices.ContainsFunc(hits, func(hit Hit) bool { return hit.Cost < 0 }):
		return nil, ofNoOp(refuse(ErrBadNumber, "a cost must not be below 0"))
	case limit < 0:
		return nil, ofNoOp(refuse(ErrBadNumber, "limit must not be below 0"))
	case len(keys) > maxKeys:
		return nil, ofNoOp(tooManyKeys(len(keys)))
	case len(keys) == 0:
		return nil, nil
	}
	var answer string
	err := db.QueryRow(ctx, limitSQL, ns.name, arrayLiteral(keys), "{"+strings.Join(costs, ",")+"}", limit, ms, ns.tenantText()).Scan(&answer)
	if err != nil {
		return nil, mapError(err)
	}
	var rows []struct {
		Allowed   bool
		Reason    Reason
		Remaining int64
		Reset     *int64
		In        *int64
	}
	if err := json.Unmarshal([]byte(answer), &rows); err != nil {
		return nil, fmt.Errorf("kvpg: reading the answer of kv_limiter_v1: %w", err)
	}
	if len(rows) != len(hits) {
		return nil, fmt.Errorf("kvpg: reading the answer of kv_limiter_v1: %d rows for %d hits", len(rows), len(hits))
	}
	verdicts := make([]LimitVerdict, len(rows))
	for i, row := range rows {
		verdicts[i] = LimitVerdict{Allowed: row.Allowed, Reason: row.Reason, Remaining: row.Remaining, ResetAt: instant(row.Reset)}
		if row.In != nil && row.Reset != nil { // greatest() ignores a NULL
			verdicts[i].ResetIn = time.Duration(min(*row.In, math.MaxInt64/1000)) * time.Microsecond
		}
	}
	return verdicts, nil
}

// instant reads microseconds since 1970; nil is the zero Time.
func instant(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros).UTC()
}
