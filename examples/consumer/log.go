package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// An event is an entry of the log.
type event struct {
	position int64
	account  string
	cents    int64
}

// appendEvents appends to the log in tx, and gives the position of the last event.
//
// A reader that keeps a position as its cursor needs a log that only grows at its end: once it has seen position 7, no 6 may
// appear. An identity column doesn't give that, since its numbers are drawn when the row is written and the rows appear when
// their transactions commit, in another order; the reader that went on to 7 would never see the 6 that commits later. Here
// the number comes from a row that stays locked until COMMIT. So the next appender takes its number after the one before has
// ended, who sees 7 sees 6, and a rollback gives its numbers back, so that there are no gaps either.
func appendEvents(ctx context.Context, tx pgx.Tx, events []event) (last int64, err error) {
	accounts, cents := make([]string, len(events)), make([]int64, len(events))
	for i, e := range events {
		accounts[i], cents[i] = e.account, e.cents
	}
	err = tx.QueryRow(ctx, `
		with head as (
			update log_head set position = position + cardinality($1::text[]) returning position as last
		), appended as (
			insert into event (position, account, cents)
			select head.last - cardinality($1::text[]) + e.nth, e.account, e.cents
			from head, unnest($1::text[], $2::bigint[]) with ordinality as e (account, cents, nth)
		)
		select last from head`, accounts, cents).Scan(&last)
	return last, err
}

// readEvents gives the next events of the log after a position, in order.
func readEvents(ctx context.Context, tx pgx.Tx, after int64, limit int) ([]event, error) {
	rows, err := tx.Query(ctx, `select position, account, cents from event where position > $1 order by position limit $2`, after, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e event, err error) {
		err = row.Scan(&e.position, &e.account, &e.cents)
		return e, err
	})
}
