package main

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/queenkv/queenkv/kvpg"
)

// receiptArgs are the job: write the receipt of an order.
type receiptArgs struct {
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

func (receiptArgs) Kind() string { return "receipt" }

// retention is how long it is remembered that an order has its receipt, and that a delivery made its job. It must outlive
// whatever can make River work the job again, and the sender's last delivery.
const retention = 30 * 24 * time.Hour

type receiptWorker struct {
	river.WorkerDefaults[receiptArgs]

	pool        *pgxpool.Pool
	receipts    kvpg.Namespace // Once's markers, by order
	withoutOnce bool

	worked, replayed atomic.Int64

	// For tests: called with the effect done and nothing committed, and with all of it committed.
	afterEffect, afterCommit func(attempt int)
}

// Work is the one half of the idea: the marker, the effect and the job's completion are one transaction.
//
// River works a job at least once: again when its worker died, when it ran for so long that it was taken for stuck (while it
// still runs), or when somebody retries it by hand. Once makes the effect happen once all the same. JobCompleteTx closes the
// gap between COMMIT and River's own note that the job is completed, in which a crash would make it run again.
//
// There is no retry here: an error goes to River, which works the job again, and a lost connection during COMMIT is no
// special case.
func (w *receiptWorker) Work(ctx context.Context, job *river.Job[receiptArgs]) error {
	w.worked.Add(1)
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		if err := w.once(ctx, tx, job); err != nil {
			return err
		}
		if w.afterEffect != nil {
			w.afterEffect(job.Attempt)
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if errors.Is(err, kvpg.ErrOnceMismatch) {
		return river.JobCancel(err) // the order has another receipt, and will have it at every retry
	}
	if err == nil && w.afterCommit != nil {
		w.afterCommit(job.Attempt)
	}
	return err
}

func (w *receiptWorker) once(ctx context.Context, tx pgx.Tx, job *river.Job[receiptArgs]) error {
	if w.withoutOnce {
		_, err := writeReceipt(ctx, tx, job.Args)
		return err
	}
	// The order is the key, not the job: two jobs for one order are one receipt, too.
	r, err := kvpg.Once(ctx, tx, w.receipts, job.Args.Order, retention,
		func(ctx context.Context) ([]byte, error) { return writeReceipt(ctx, tx, job.Args) },
		&kvpg.OnceOptions{Fingerprint: strconv.AppendInt(nil, job.Args.Cents, 10)})
	if r.Replayed {
		w.replayed.Add(1)
	}
	return err
}

// writeReceipt is the effect. It gives the receipt's number.
func writeReceipt(ctx context.Context, tx pgx.Tx, args receiptArgs) ([]byte, error) {
	var number int64
	err := tx.QueryRow(ctx, `insert into receipt (order_id, cents) values ($1, $2) returning number`, args.Order, args.Cents).Scan(&number)
	return strconv.AppendInt(nil, number, 10), err
}
