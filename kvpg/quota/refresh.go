package quota

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A tenant's age is how long before the server's clock, read in this statement, the measurement began: both instants are of one
// clock. An answer that is one row goes through every handle.
const refreshSQL = `select coalesce(json_agg(json_build_object('tenant', q.tenant_id, 'maxRows', q.max_rows, 'maxBytes', q.max_bytes,
  'rows', q.rows, 'bytes', q.bytes, 'sampled', q.sampled,
  'age', (extract(epoch from clock_timestamp() - q.computed_at) * 1000000)::bigint)), '[]')::text
  from queen.kv_quota_refresh_v1() as q`

// A reading is a tenant's row of kv_quota_refresh_v1.
type reading struct {
	tenant            [16]byte
	maxRows, maxBytes *int64
	measured          amount
	sampled           bool
	at                time.Time // see tenant.at
}

// Refresh reads limits and measurements once. [Enforcer.Run] does it again and again; call it to see the effect of a change at once.
// After an error everything is as before, but that more tenants than
// [Options.MaxTenants] are an error too, and those who found a place are known.
func (q *Enforcer) Refresh(ctx context.Context) error {
	q.refreshing.Lock()
	defer q.refreshing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, q.opts.Timeout)
	defer cancel()
	before := q.opts.Now()
	var answer string
	if err := q.db.QueryRow(ctx, refreshSQL).Scan(&answer); err != nil {
		return fmt.Errorf("kvpg/quota: reading the quotas: %w", err)
	}
	readings, err := parseReadings(answer, before)
	if err != nil {
		return err
	}
	return q.take(readings, before)
}

// parseReadings places each measurement on this process's clock. The server read its clock after before, so that a measurement of an
// age was made no earlier than that age before it. One that is stamped in the future has no age that could be believed.
func parseReadings(answer string, before time.Time) ([]reading, error) {
	var rows []struct {
		Tenant      string
		MaxRows     *int64
		MaxBytes    *int64
		Rows, Bytes int64
		Sampled     bool
		Age         *int64
	}
	if err := json.Unmarshal([]byte(answer), &rows); err != nil {
		return nil, fmt.Errorf("kvpg/quota: reading the answer of kv_quota_refresh_v1: %w", err)
	}
	readings := make([]reading, len(rows))
	for i, row := range rows {
		r := reading{maxRows: row.MaxRows, maxBytes: row.MaxBytes, measured: amount{row.Rows, row.Bytes}, sampled: row.Sampled}
		id, err := hex.DecodeString(strings.ReplaceAll(row.Tenant, "-", ""))
		if err != nil || copy(r.tenant[:], id) != len(r.tenant) {
			return nil, fmt.Errorf("kvpg/quota: reading the answer of kv_quota_refresh_v1: no UUID: %q", row.Tenant)
		}
		if row.Age != nil && *row.Age >= 0 && *row.Age < int64(maxAge/time.Microsecond) {
			r.at = before.Add(-time.Duration(*row.Age) * time.Microsecond)
		}
		readings[i] = r
	}
	return readings, nil
}

// maxAge is far from where a time.Duration ends.
const maxAge = 100 * 365 * 24 * time.Hour

// take makes the readings what is decided by. A tenant who is known stays known while he has a quota; who is new finds place only
// where the cap leaves it.
func (q *Enforcer) take(readings []reading, before time.Time) error {
	known := make(map[[16]byte]bool, len(readings))
	for _, r := range readings {
		known[r.tenant] = true
	}
	stay := make([]*tenant, len(readings))
	q.mu.Lock()
	for id, t := range q.tenants {
		if !known[id] {
			q.remembered.Add(-int64(t.forget()))
			delete(q.tenants, id)
		}
	}
	left := 0
	for i, r := range readings {
		switch t := q.tenants[r.tenant]; {
		case t != nil:
			stay[i] = t
		case len(q.tenants) < q.opts.MaxTenants:
			t = &tenant{}
			t.refresh(r, q.opts.CommitWithin)
			q.tenants[r.tenant] = t
		default:
			left++
		}
	}
	q.refreshed = before
	q.mu.Unlock()
	for i, t := range stay { // outside the lock: a long ledger takes a while
		if t != nil {
			q.remembered.Add(-int64(t.refresh(readings[i], q.opts.CommitWithin)))
		}
	}
	if left > 0 {
		return noPlace(left)
	}
	return nil
}

// noPlace is the error of a reading that succeeded, and told of more tenants than there is place for.
type noPlace int

func (n noPlace) Error() string {
	return fmt.Sprintf("kvpg/quota: MaxTenants leaves no place for %d tenants who have a quota", int(n))
}

// forget empties the ledger of a tenant whose quota was taken away.
func (t *tenant) forget() (keys int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys = len(t.own.keys)
	t.own, t.gone = ledger{}, true
	return keys
}
