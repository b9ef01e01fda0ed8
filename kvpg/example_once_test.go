package kvpg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

// A webhook is delivered twice. Its effect is booked once, and both deliveries get the same answer.
func ExampleOnceTx() {
	deliver := func(id, account string, cents int64) {
		r, err := kvpg.OnceTx(ctx, pool, deliveries, id, 30*24*time.Hour, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			var balance int64
			if _, err := tx.Exec(ctx, `insert into ledger (account, cents) values ($1, $2)`, account, cents); err != nil {
				return nil, err
			}
			err := tx.QueryRow(ctx, `select sum(cents) from ledger where account = $1`, account).Scan(&balance)
			return fmt.Appendf(nil, "balance %d", balance), err
		}, nil)
		fmt.Printf("%s, replayed: %v, %v\n", r.Result, r.Replayed, err)
	}
	deliver("evt_1", "carol", 500)
	deliver("evt_1", "carol", 500)
	deliver("evt_2", "carol", 20)
	// Output:
	// balance 500, replayed: false, <nil>
	// balance 500, replayed: true, <nil>
	// balance 520, replayed: false, <nil>
}

// Once works in a transaction that the caller has. The fingerprint tells a retry from another request that reuses its key.
func ExampleOnce() {
	handle := func(id string, body []byte) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		r, err := kvpg.Once(ctx, tx, deliveries, id, 30*24*time.Hour, func(ctx context.Context) ([]byte, error) {
			_, err := tx.Exec(ctx, `insert into ledger (account, cents) values ('dave', $1)`, len(body))
			return []byte("booked"), err
		}, &kvpg.OnceOptions{Fingerprint: body})
		if err != nil {
			return err
		}
		fmt.Printf("%s, replayed: %v\n", r.Result, r.Replayed)
		return tx.Commit(ctx)
	}
	fmt.Println(handle("evt_3", []byte("five")))
	fmt.Println(handle("evt_3", []byte("five")))
	err := handle("evt_3", []byte("another body"))
	fmt.Println(errors.Is(err, kvpg.ErrOnceMismatch))
	// Output:
	// booked, replayed: false
	// <nil>
	// booked, replayed: true
	// <nil>
	// true
}

// A caller that would rather say "come back later" than wait for the one that is at it.
func ExampleOnce_busy() {
	first, err := pool.Begin(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer first.Rollback(ctx)
	done := func(context.Context) ([]byte, error) { return []byte("done"), nil }
	_, err = kvpg.Once(ctx, first, deliveries, "evt_4", time.Hour, done, nil)
	fmt.Println(err)

	// The first has not ended.
	second, err := pool.Begin(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Rollback(ctx)
	_, err = kvpg.Once(ctx, second, deliveries, "evt_4", time.Hour, done, &kvpg.OnceOptions{Busy: true})
	fmt.Println(errors.Is(err, kvpg.ErrOnceBusy))
	fmt.Println(second.Commit(ctx)) // the transaction is as good as before
	// Output:
	// <nil>
	// true
	// <nil>
}

var errNoFunds = errors.New("not enough money")

// A refusal is an answer too: what was declined once stays declined for every retry of the same request. What the function did
// before it found out is undone.
func ExampleOnce_storeError() {
	opts := &kvpg.OnceOptions{StoreError: func(err error) ([]byte, bool) {
		return []byte("declined"), errors.Is(err, errNoFunds)
	}}
	transfer := func(id, from, to string, cents int64) {
		_, err := kvpg.OnceTx(ctx, pool, deliveries, id, time.Hour, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			if _, err := tx.Exec(ctx, `update accounts set cents = cents + $2 where id = $1`, to, cents); err != nil {
				return nil, err
			}
			tag, err := tx.Exec(ctx, `update accounts set cents = cents - $2 where id = $1 and cents >= $2`, from, cents)
			if err == nil && tag.RowsAffected() == 0 {
				err = errNoFunds
			}
			return []byte("transferred"), err
		}, opts)
		var stored *kvpg.OnceStoredError
		if errors.As(err, &stored) {
			fmt.Printf("%s, replayed: %v\n", stored.Stored, stored.Replayed)
			return
		}
		fmt.Println(err)
	}
	transfer("tr_1", "ada", "bob", 500)
	transfer("tr_1", "ada", "bob", 500)
	var cents int64
	err := pool.QueryRow(ctx, `select cents from accounts where id = 'bob'`).Scan(&cents)
	fmt.Println(cents, err)
	// Output:
	// declined, replayed: false
	// declined, replayed: true
	// 0 <nil>
}

// A result that no replay needs, or that is too large to be kept beside the marker: 48,000 bytes are the most.
func ExampleOnce_discardResult() {
	opts := &kvpg.OnceOptions{DiscardResult: true}
	for range 2 {
		r, err := kvpg.OnceTx(ctx, pool, deliveries, "export_1", time.Hour, func(context.Context, pgx.Tx) ([]byte, error) {
			return bytes.Repeat([]byte("row\n"), 100_000), nil
		}, opts)
		fmt.Println(len(r.Result), r.Replayed, r.Discarded, err)
	}
	// Output:
	// 400000 false false <nil>
	// 0 true true <nil>
}

// Transactions above READ COMMITTED may be asked to run again, and RunTx does. How they begin is the Beginner's business.
func ExampleRunTx() {
	serializable := kvpg.BeginFunc[pgx.Tx](func(ctx context.Context) (pgx.Tx, error) {
		return pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	})
	attempt := 0
	err := kvpg.RunTx(ctx, serializable, func(ctx context.Context, tx pgx.Tx) error {
		attempt++
		v, err := kvpg.Incr(ctx, tx, counters, "visits", 1, kvpg.Forever(), nil)
		if err != nil {
			return err
		}
		if attempt == 1 { // somebody else writes what this transaction has read
			_, err = tx.Exec(ctx, `do $$ begin raise serialization_failure; end $$`)
			return err
		}
		fmt.Printf("attempt %d: %s\n", attempt, v.Value)
		return nil
	}, &kvpg.TxOptions{MaxAttempts: 10})
	fmt.Println(err)
	// Output:
	// attempt 2: 1
	// <nil>
}

// What to do with the one error that says neither yes nor no.
func ExampleRunTx_unknownCommit() {
	book := func(ctx context.Context, id string) ([]byte, error) {
		for {
			r, err := kvpg.OnceTx(ctx, pool, deliveries, id, 24*time.Hour, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
				_, err := tx.Exec(ctx, `insert into ledger (account, cents) values ('erin', 1)`)
				return []byte("booked"), err
			}, nil)
			if errors.Is(err, kvpg.ErrCommitUnknown) && ctx.Err() == nil {
				continue // the same key: what was committed is replayed, what was not is run
			}
			return r.Result, err
		}
	}
	result, err := book(ctx, "evt_5")
	fmt.Printf("%s %v\n", result, err)
	// Output: booked <nil>
}
