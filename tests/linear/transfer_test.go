package linear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

const (
	accounts = 5
	opening  = 100 // of each account
	readers  = clients / 4
)

// TestTransfers: a call is one. A transfer is two increments in one call, and whoever reads all accounts by one getMany sees
// the same sum always. KV_PROOF_TRANSFERS is how many are made in each isolation, and in a mix of them.
func TestTransfers(t *testing.T) {
	transfers := proof.Size(t, "KV_PROOF_TRANSFERS", 300)
	var reads, retries int
	for _, isolation := range append(isolations, mixed) {
		t.Run(isolation, func(t *testing.T) {
			b := openBank(t, isolation)
			n, err := b.run(t.Context(), transfers, (*client).transfer)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 || isolation != isolations[0] && b.retries() == 0 {
				t.Error("it never met what it is for")
			}
			reads, retries = reads+n, retries+b.retries()
		})
	}
	if !t.Failed() {
		proof.Report(t, fmt.Sprintf("transfers in %d isolations and mixed: %d by %d clients, %d retries after 40001; %d others read the sum "+
			"%d times, and it was %d each time", len(isolations), transfers*(len(isolations)+1), clients-readers, retries, readers, reads, accounts*opening))
	}
}

// TestTransfersBite: a transfer in two calls is seen half done.
func TestTransfersBite(t *testing.T) {
	b := openBank(t, isolations[0])
	_, err := b.run(t.Context(), 5000, func(c *client, ctx context.Context, from, to, amount int) error {
		for account, delta := range map[int]int{from: -amount, to: amount} {
			if _, err := c.sum(ctx, "["+incr(account, delta)+"]"); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, errSum) {
		t.Fatalf("%v, want a sum that is wrong", err)
	}
	t.Log(err)
}

var errSum = errors.New("the sum is wrong")

type bank struct{ all []*client }

func openBank(t *testing.T, isolation string) *bank {
	t.Helper()
	db := testdb.New(t, nil)
	db.Exec(t, `insert into queen.kv (namespace, key, value) select $1, 'account ' || n, to_jsonb($2::int)
		from generate_series(0, $3 - 1) as n`, namespace, opening, accounts)
	return &bank{newClients(t, db, isolation)}
}

func (b *bank) retries() (n int) {
	for _, c := range b.all {
		n += c.retries
	}
	return n
}

// run makes transfers, while the readers read until the last is made. It ends early at the first fault.
func (b *bank) run(
	ctx context.Context, transfers int, transfer func(c *client, ctx context.Context, from, to, amount int) error,
) (reads int, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var moving, reading sync.WaitGroup
	over := make(chan struct{})
	movers := b.all[readers:]
	for i, c := range movers {
		moving.Go(func() {
			for n := i; n < transfers && ctx.Err() == nil; n += len(movers) {
				from := rand.IntN(accounts)
				to := (from + 1 + rand.IntN(accounts-1)) % accounts
				if err := transfer(c, ctx, from, to, 1+rand.IntN(9)); err != nil {
					fail(fmt.Errorf("transfer %d: %w", n, err))
				}
			}
		})
	}
	counts := make([]int, readers)
	for i, c := range b.all[:readers] {
		reading.Go(func() {
			for ; ctx.Err() == nil; counts[i]++ {
				select {
				case <-over:
					return
				default:
				}
				if err := c.readAll(ctx, counts[i]%2 == 0); err != nil {
					fail(fmt.Errorf("read %d: %w", counts[i], err))
				}
			}
		})
	}
	moving.Wait()
	close(over)
	reading.Wait()
	for _, n := range counts {
		reads += n
	}
	if err := context.Cause(ctx); err != nil {
		return reads, err
	}
	return reads, b.all[0].readAll(ctx, true)
}

// transfer is one call of two increments, in any order, and in every second one a getMany, which sees the call's writes.
func (c *client) transfer(ctx context.Context, from, to, amount int) error {
	first, second := incr(from, -amount), incr(to, amount)
	if rand.IntN(2) == 0 {
		first, second = second, first
	}
	ops := first + ", " + second
	look := rand.IntN(2) == 0
	if look {
		ops += ", " + getAll()
	}
	sum, err := c.sum(ctx, "["+ops+"]")
	if err == nil && look && sum != accounts*opening {
		err = fmt.Errorf("%w: %d after the call's own writes, want %d", errSum, sum, accounts*opening)
	}
	return err
}

// readAll reads the accounts by one getMany, of kv_apply_v1 or kv_get_many_v1.
func (c *client) readAll(ctx context.Context, apply bool) error {
	var sum int
	err := c.again(func() (err error) {
		if apply {
			sum, err = c.sumOnce(ctx, "["+getAll()+"]")
			return err
		}
		return c.QueryRow(ctx, `select coalesce(sum(value::int), 0)::int from queen.kv_get_many_v1($1, $2)`, namespace, names()).Scan(&sum)
	})
	if err == nil && sum != accounts*opening {
		err = fmt.Errorf("%w: %d, want %d", errSum, sum, accounts*opening)
	}
	return err
}

// sum makes a call until it isn't failed with 40001, and gives the sum of what its getMany read, if it has one.
func (c *client) sum(ctx context.Context, ops string) (sum int, err error) {
	err = c.again(func() (err error) { sum, err = c.sumOnce(ctx, ops); return err })
	return sum, err
}

func (c *client) sumOnce(ctx context.Context, ops string) (sum int, err error) {
	var text string
	if err := c.QueryRow(ctx, `select queen.kv_apply_v1($1::jsonb)::text`, ops).Scan(&text); err != nil {
		return 0, err
	}
	var results []struct {
		Op      string
		Applied bool
		Rows    []struct{ Value int }
	}
	if err := json.Unmarshal([]byte(text), &results); err != nil {
		return 0, err
	}
	for _, r := range results {
		if r.Op == "incr" && !r.Applied {
			return 0, fmt.Errorf("an incr without bounds lost: %s", text)
		}
		for _, row := range r.Rows {
			sum += row.Value
		}
	}
	return sum, nil
}

func (c *client) again(do func() error) error {
	for {
		err := do()
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "40001" {
			return err
		}
		c.retries++
	}
}

func incr(account, delta int) string {
	return fmt.Sprintf(`{"op": "incr", "ns": %q, "key": "account %d", "delta": %d, "forever": true}`, namespace, account, delta)
}

func names() (keys []string) {
	for n := range accounts {
		keys = append(keys, fmt.Sprint("account ", n))
	}
	return keys
}

func getAll() string {
	keys, err := json.Marshal(names())
	if err != nil {
		panic(err) // they are strings
	}
	return fmt.Sprintf(`{"op": "getMany", "ns": %q, "keys": %s}`, namespace, keys)
}
