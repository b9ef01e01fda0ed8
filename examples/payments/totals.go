package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

// totals are what the books hold in all, whoever wrote it: this run, an earlier one, or another process.
type totals struct {
	Effects int64 `json:"effects"` // rows of the ledger
	Doubles int64 `json:"doubles"` // rows of the ledger beyond the first of their delivery id
	Counted int64 `json:"counted"` // the sum of the customers' counters
	Cents   int64 `json:"cents"`   // the sum of the balances

	doubled  []string           // some of the delivery ids that have several rows
	ledger   map[string]account // by customer, from the ledger's rows
	counters map[string]int64   // effects by customer, from queen.kv
	balances map[string]int64   // cents by customer, from the table balance
}

// readTotals reads everything in one snapshot, so that the parts agree at any moment, also beside a running process.
func (b *book) readTotals(ctx context.Context) (*totals, error) {
	t := &totals{ledger: map[string]account{}, counters: map[string]int64{}, balances: map[string]int64{}}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, b.pool, snapshot, func(tx pgx.Tx) error {
		for _, read := range []func(context.Context, pgx.Tx) error{t.readLedger, t.readDoubles, t.readBalances} {
			if err := read(ctx, tx); err != nil {
				return err
			}
		}
		return t.readCounters(ctx, tx, b.counters)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the totals: %w", err)
	}
	return t, nil
}

func (t *totals) readLedger(ctx context.Context, tx pgx.Tx) error {
	var customer string
	var a account
	rows, _ := tx.Query(ctx, `select customer, count(*), sum(amount_cents)::bigint from ledger group by customer`)
	_, err := pgx.ForEachRow(rows, []any{&customer, &a.Effects, &a.Cents}, func() error {
		t.ledger[customer] = a
		t.Effects += a.Effects
		return nil
	})
	return err
}

func (t *totals) readDoubles(ctx context.Context, tx pgx.Tx) error {
	const shown = 5
	var id string
	var times int64
	rows, _ := tx.Query(ctx, `select delivery_id, count(*) from ledger group by delivery_id having count(*) > 1 order by min(entry)`)
	_, err := pgx.ForEachRow(rows, []any{&id, &times}, func() error {
		t.Doubles += times - 1
		if len(t.doubled) < shown {
			t.doubled = append(t.doubled, fmt.Sprintf("%s ×%d", id, times))
		}
		return nil
	})
	return err
}

func (t *totals) readBalances(ctx context.Context, tx pgx.Tx) error {
	var customer string
	var cents int64
	rows, _ := tx.Query(ctx, `select customer, cents from balance`)
	_, err := pgx.ForEachRow(rows, []any{&customer, &cents}, func() error {
		t.balances[customer] = cents
		t.Cents += cents
		return nil
	})
	return err
}

func (t *totals) readCounters(ctx context.Context, tx pgx.Tx, counters kvpg.Namespace) error {
	opts := &kvpg.GetPrefixOptions{Limit: 1000}
	for {
		page, err := kvpg.GetPrefix(ctx, tx, counters, counterPrefix, opts)
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			n, err := e.Int64()
			if err != nil {
				return fmt.Errorf("counter %q: %w", e.Key, err)
			}
			t.counters[strings.TrimPrefix(e.Key, counterPrefix)] = n
			t.Counted += n
		}
		if !page.Truncated {
			return nil
		}
		opts.After = page.NextAfter
	}
}
