// Package patterns shows limiter, lease and Dedupe of kvpg, each in a few lines that run: "go test" compares what they print. They need a
// database, as make test makes one.
package patterns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/examples/internal/scratch"
	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/lease"
)

var (
	ctx  = context.Background()
	pool *pgxpool.Pool

	rates  = kvpg.NewNamespace("rates")
	seen   = kvpg.NewNamespace("seen")
	leases = kvpg.NewNamespace("leases")
)

// A limit of three points an hour. What doesn't fit costs nothing.
func ExampleLimit() {
	for _, cost := range []int64{2, 2, 1, 1} {
		v, err := kvpg.Limit(ctx, pool, rates, "ada", cost, 3, time.Hour)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("cost", cost, "allowed", v.Allowed, "remaining", v.Remaining)
	}
	// Output:
	// cost 2 allowed true remaining 1
	// cost 2 allowed false remaining 1
	// cost 1 allowed true remaining 0
	// cost 1 allowed false remaining 0
}

// A request that counts for a user and for the user's company, all or nothing: what was taken is given back by a rollback.
func ExampleLimitMany() {
	errTooMany := errors.New("too many")
	take := func(user, company string) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			hits := []kvpg.Hit{{Key: "user/" + user, Cost: 1}, {Key: "company/" + company, Cost: 1}}
			verdicts, err := kvpg.LimitMany(ctx, tx, rates, hits, 2, time.Hour)
			for _, v := range verdicts {
				if !v.Allowed {
					return errTooMany
				}
			}
			return err
		})
	}
	fmt.Println(take("ada", "acme"))
	fmt.Println(take("bob", "acme"))
	fmt.Println(take("bob", "acme"))
	v, err := kvpg.Limit(ctx, pool, rates, "user/bob", 0, 2, time.Hour) // asks
	fmt.Println("bob has left:", v.Remaining, err)
	// Output:
	// <nil>
	// <nil>
	// too many
	// bob has left: 1 <nil>
}

// Which events of a batch are new. In the transaction of the effect, or a rollback would leave them seen.
func ExampleDedupe() {
	handle := func(ids ...string) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			fresh, err := kvpg.Dedupe(ctx, tx, seen, ids, 24*time.Hour)
			for i, isNew := range fresh {
				if isNew {
					fmt.Println("handling", ids[i])
				}
			}
			return err
		})
	}
	if err := errors.Join(handle("evt_1", "evt_2", "evt_1"), handle("evt_2", "evt_3")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// handling evt_1
	// handling evt_2
	// handling evt_3
}

// One holder at a time. The second is told who has it.
func ExampleAcquireLease() {
	mine, ok, err := kvpg.AcquireLease(ctx, pool, leases, "report", time.Minute, &kvpg.LeaseOptions{Owner: "host-7"})
	fmt.Println(ok, err)
	other, ok, err := kvpg.AcquireLease(ctx, pool, leases, "report", time.Minute, &kvpg.LeaseOptions{Owner: "host-8"})
	fmt.Println(ok, err, "held by", other.Owner)
	held, err := mine.Release(ctx, pool)
	fmt.Println("released:", held, err)
	// Output:
	// true <nil>
	// false <nil> held by host-7
	// released: true <nil>
}

// An effect that commits only as the holder. Here somebody took the lease away first, and the transaction is lost.
func ExampleLease_Guard() {
	l, _, err := kvpg.AcquireLease(ctx, pool, leases, "import", time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	work := func() error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			// ... the effect, in tx ...
			return l.Guard(ctx, tx)
		})
	}
	fmt.Println(work())
	if _, err := kvpg.Delete(ctx, pool, leases, "import", nil); err != nil {
		fmt.Println(err)
	}
	fmt.Println(errors.Is(work(), kvpg.ErrLeaseLost))
	// Output:
	// <nil>
	// true
}

// A lease that is held while a function runs. Its context ends when the lease is lost.
func Example_hold() {
	err := lease.Hold(ctx, pool, leases, "nightly", 30*time.Second, func(ctx context.Context, l kvpg.Lease) error {
		fmt.Println(l.Owner, "runs")
		var held *lease.HeldError
		err := lease.Hold(ctx, pool, leases, "nightly", 30*time.Second, nil, nil)
		fmt.Println("a second one is told:", errors.As(err, &held) && held.Owner == "host-7")
		return nil
	}, &lease.Options{Owner: "host-7"})
	fmt.Println(err)
	// Output:
	// host-7 runs
	// a second one is told: true
	// <nil>
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	maintenance := os.Getenv("KV_TEST_DATABASE_URL")
	if maintenance == "" {
		fmt.Fprintln(os.Stderr, "no database: run make test, or set KV_TEST_DATABASE_URL (a role with CREATEDB)")
		return 1
	}
	db, err := scratch.New(ctx, maintenance)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = db.Drop() }()
	if pool, err = pgxpool.New(ctx, db.URL); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer pool.Close()
	return m.Run()
}
