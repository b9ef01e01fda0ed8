package kvpg_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

// A hundred requests a minute and client. The module of examples has this as a middleware, examples/ratelimit.
func ExampleLimit() {
	serve := func(w http.ResponseWriter, r *http.Request, client string) {
		v, err := kvpg.Limit(r.Context(), pool, counters, client, 1, 100, time.Minute)
		switch {
		case err != nil:
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		case !v.Allowed:
			w.Header().Set("Retry-After", fmt.Sprint(int(v.ResetIn/time.Second)+1))
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		default:
			_, _ = fmt.Fprintln(w, "hello")
		}
	}
	_ = serve
}

// The events of a batch that nobody has handled, in one statement.
func ExampleDedupe() {
	handle := func(ids []string) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			fresh, err := kvpg.Dedupe(ctx, tx, deliveries, ids, 24*time.Hour)
			if err != nil {
				return err
			}
			for i, id := range ids {
				if fresh[i] {
					if _, err := tx.Exec(ctx, `insert into events (id) values ($1)`, id); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	_ = handle
}

// The transaction commits only if the lease is held until then.
func ExampleLease_Guard() {
	work := func(l kvpg.Lease) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `update report set made_at = clock_timestamp()`); err != nil {
				return err
			}
			return l.Guard(ctx, tx)
		})
	}
	_ = work
}
