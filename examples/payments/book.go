package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

// retention is how long a delivery's id is remembered. It must outlive the sender's last retry.
const retention = 30 * 24 * time.Hour

// A book turns deliveries into effects. It is safe for concurrent use, and holds no memory of what it has seen.
type book struct {
	pool        *pgxpool.Pool
	deliveries  kvpg.Namespace // Once's markers, by delivery id
	counters    kvpg.Namespace // effects by customer, under counterPrefix and the customer
	withoutOnce bool
	gate        *killGate // nil but for -kill-after
}

const counterPrefix = "customer/"

// An outcome is what became of a delivery.
type outcome struct {
	kind    string
	early   bool // a replay whose transaction began before the effect that it replays was complete: both were in flight
	retries int  // transactions that were lost to a conflict and run again
}

const (
	effect  = "effect"  // booked by this transaction
	replay  = "replay"  // booked before: nothing was done
	refusal = "refusal" // another delivery had this id
)

// maxAttempts bounds the retries of one delivery.
const maxAttempts = 10

// handle books d, and tries again when its transaction lost a conflict (SQLSTATE 40001 or 40P01). After any other error,
// a connection lost during COMMIT included, handling d once more later is safe: it is booked or replayed.
func (b *book) handle(ctx context.Context, line int, d delivery) (outcome, error) {
	for attempt := 1; ; attempt++ {
		out, err := b.attempt(ctx, line, d)
		if err == nil || !kvpg.IsRetryable(err) || attempt == maxAttempts {
			out.retries = attempt - 1
			return out, err
		}
		pause := time.Duration(1+rand.IntN(10*attempt)) * time.Millisecond // spread, or they meet again
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		}
	}
}

// attempt is the whole idea: the marker, the effect and the counter are one transaction.
//
// It takes its locks in one order: the delivery (Once), the customer's counter, the customer's balance. So there is no
// deadlock: who holds a customer's rows has its delivery already and waits for nothing more, and who waits for a delivery
// holds no customer's row. Once has to come first anyway, since it decides whether there is an effect at all; the rows that
// other deliveries contend for come last, and are held for the shortest time. An effect on two customers would have to
// take their counters by one kvpg.Apply, which sorts them, and their balances in sorted order.
func (b *book) attempt(ctx context.Context, line int, d delivery) (outcome, error) {
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer rollback(ctx, tx) // does nothing after COMMIT

	once := kvpg.OnceResult{}
	if b.withoutOnce {
		_, err = b.effect(ctx, tx, d)
	} else {
		once, err = kvpg.Once(ctx, tx, b.deliveries, d.id, retention,
			func(ctx context.Context) ([]byte, error) { return b.effect(ctx, tx, d) },
			&kvpg.OnceOptions{Fingerprint: d.fingerprint()})
	}
	switch {
	case errors.Is(err, kvpg.ErrOnceMismatch):
		return outcome{kind: refusal}, nil
	case err != nil:
		return outcome{}, err
	case once.Replayed:
		early, err := beganBefore(ctx, tx, once.Result)
		return outcome{kind: replay, early: early}, err
	}

	if b.gate != nil {
		b.gate.beforeCommit(ctx, line)
	}
	if err := tx.Commit(ctx); err != nil {
		return outcome{}, err
	}
	if b.gate != nil {
		b.gate.committed()
	}
	return outcome{kind: effect}, nil
}

// A receipt is the answer that Once keeps for every later delivery with the same id.
type receipt struct {
	Entry   int64     `json:"entry"`
	Balance int64     `json:"balance"` // right after the entry
	At      time.Time `json:"at"`      // when the effect was complete and not yet committed, by the database's clock
}

// effect books d in tx.
func (b *book) effect(ctx context.Context, tx pgx.Tx, d delivery) ([]byte, error) {
	var r receipt
	err := tx.QueryRow(ctx, `insert into ledger (delivery_id, customer, amount_cents) values ($1, $2, $3) returning entry`,
		d.id, d.customer, d.cents).Scan(&r.Entry)
	if err != nil {
		return nil, err
	}
	count, err := kvpg.Incr(ctx, tx, b.counters, counterPrefix+d.customer, 1, kvpg.Forever(), nil)
	if err != nil {
		return nil, err
	}
	if !count.Applied {
		return nil, fmt.Errorf("the counter of customer %q did not count: %s", d.customer, count.Reason)
	}
	err = tx.QueryRow(ctx, `insert into balance (customer, cents) values ($1, $2)
		on conflict (customer) do update set cents = balance.cents + excluded.cents
		returning cents, clock_timestamp()`, d.customer, d.cents).Scan(&r.Balance, &r.At)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// beganBefore reports whether tx began before the effect of the receipt was complete.
func beganBefore(ctx context.Context, tx pgx.Tx, result []byte) (early bool, err error) {
	var r receipt
	if err := json.Unmarshal(result, &r); err != nil {
		return false, fmt.Errorf("the stored receipt: %w", err)
	}
	err = tx.QueryRow(ctx, `select transaction_timestamp() < $1`, r.At).Scan(&early)
	return early, err
}

// rollback must happen although ctx may have ended. Its own failure closes the connection, which is as good.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = tx.Rollback(ctx)
}
