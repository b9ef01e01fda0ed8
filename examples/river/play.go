package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// workLimit bounds the wait for River.
const workLimit = time.Minute

// deliverAndWork plays the whole example and checks the counts.
func deliverAndWork(ctx context.Context, cfg config, stdout io.Writer) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, workLimit, errors.New("the jobs were not worked in time"))
	defer cancel()
	s, err := openShop(ctx, cfg.database, cfg.schema, cfg.withoutOnce)
	if err != nil {
		return err
	}
	defer s.pool.Close()
	if err := s.client.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.client.Stop(context.WithoutCancel(ctx))) }()

	if err := s.deliverAll(ctx, cfg); err != nil {
		return err
	}
	if err := s.untilWorked(ctx); err != nil {
		return err
	}
	if err := s.retryAll(ctx); err != nil {
		return err
	}
	if err := s.untilWorked(ctx); err != nil {
		return err
	}

	jobs, receipts, err := s.count(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d deliveries of %d orders made %d jobs\n", cfg.orders*cfg.deliveries, cfg.orders, jobs)
	fmt.Fprintf(stdout, "the jobs were worked %d times, %d of them replays, and wrote %d receipts\n",
		s.worker.worked.Load(), s.worker.replayed.Load(), receipts)
	if jobs != cfg.orders || receipts != cfg.orders {
		return fmt.Errorf("%d jobs and %d receipts for %d orders", jobs, receipts, cfg.orders)
	}
	return nil
}

// deliverAll delivers every order several times, side by side.
func (s *shop) deliverAll(ctx context.Context, cfg config) error {
	var wait sync.WaitGroup
	failures := make([]error, cfg.deliveries)
	for i := range failures {
		wait.Go(func() {
			for n := range cfg.orders {
				order := fmt.Sprintf("order %d", n)
				if _, err := s.webhook.deliver(ctx, "delivery of "+order, receiptArgs{Order: order, Cents: int64(100 + n)}); err != nil {
					failures[i] = err
					return
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(failures...)
}

// untilWorked waits until no job of the queue is left to be worked.
func (s *shop) untilWorked(ctx context.Context) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for done := false; !done; {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		err := s.pool.QueryRow(ctx, `select count(*) = 0 from river_job where state in ('available', 'running', 'retryable', 'scheduled')`).Scan(&done)
		if err != nil {
			return err
		}
	}
	return nil
}

// retryAll has River work every job again, as a person with its user interface can.
func (s *shop) retryAll(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, `select id from river_job`)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := s.client.JobRetry(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *shop) count(ctx context.Context) (jobs, receipts int, err error) {
	err = s.pool.QueryRow(ctx, `select (select count(*) from river_job), (select count(*) from receipt)`).Scan(&jobs, &receipts)
	return jobs, receipts, err
}
