package main

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/queenkv/queenkv/kvpg"
)

// A webhook takes the deliveries of a shop, each of which may come several times.
type webhook struct {
	pool        *pgxpool.Pool
	deliveries  kvpg.Namespace // Once's markers, by delivery
	jobs        *river.Client[pgx.Tx]
	withoutOnce bool
}

// deliver is the other half of the idea: the marker of the delivery and the job that it makes are one transaction. It gives
// the job's id, for every delivery with the same id the same one.
func (w *webhook) deliver(ctx context.Context, id string, args receiptArgs) (job int64, err error) {
	err = pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		insert := func(ctx context.Context) ([]byte, error) {
			r, err := w.jobs.InsertTx(ctx, tx, args, nil)
			if err != nil {
				return nil, err
			}
			return strconv.AppendInt(nil, r.Job.ID, 10), nil
		}
		var r kvpg.OnceResult
		if w.withoutOnce {
			r.Result, err = insert(ctx)
		} else {
			r, err = kvpg.Once(ctx, tx, w.deliveries, id, retention, insert, nil)
		}
		if err != nil {
			return err
		}
		job, err = strconv.ParseInt(string(r.Result), 10, 64)
		return err
	})
	return job, err
}
