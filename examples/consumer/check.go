package main

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A report compares the log, the cursor and the effects, in one snapshot. All of it but Left holds at any moment: while
// consumers run, and after any of them was killed.
type report struct {
	Log    int64 // events in the log
	Head   int64 // the position of the last one
	Cursor int64
	Lines  int64 // of the statements: the effects

	Skipped    int64 // events up to the cursor that have no effect
	Doubled    int64 // effects beyond the first of their event
	Ahead      int64 // effects of events after the cursor
	Unordered  int64 // effects that came after the effect of a later event
	WrongLines int64 // effects that differ from the log: another account, amount, or balance after it
	WrongSums  int64 // accounts whose balance is not the sum of their events up to the cursor
}

// left is how many events are still to be applied.
func (r *report) left() int64 { return r.Head - r.Cursor }

func readReport(ctx context.Context, pool *pgxpool.Pool, schema string) (*report, error) {
	ns := cursors(schema)
	var r report
	err := pool.QueryRow(ctx, `
		with mark as materialized (
			select coalesce((select value::bigint from queen.kv_get_v1($1, $2)), 0) as cursor
		), truth as (
			select position, account, cents, sum(cents) over (partition by account order by position) as balance from event
		), line as (
			select *, row_number() over (partition by position order by entry) as nth, lag(position) over (order by entry) as before
			from statement
		)
		select
			(select count(*) from event), (select position from log_head), (select cursor from mark), (select count(*) from line),
			(select count(*) from event, mark where position <= cursor and not exists (select from line where line.position = event.position)),
			(select count(*) from line where nth > 1),
			(select count(*) from line, mark where position > cursor),
			(select count(*) from line where position < before),
			(select count(*) from line left join truth using (position)
				where (line.account, line.cents, line.balance) is distinct from (truth.account, truth.cents, truth.balance)),
			(select count(*) from balance full join
				(select account, sum(cents) as cents from event, mark where position <= cursor group by account) as sums using (account)
				where balance.cents is distinct from sums.cents)`,
		ns.Name(), cursorKey).Scan(&r.Log, &r.Head, &r.Cursor, &r.Lines,
		&r.Skipped, &r.Doubled, &r.Ahead, &r.Unordered, &r.WrongLines, &r.WrongSums)
	return &r, err
}

// failed counts the checks that do not hold.
func (r *report) failed() (n int) {
	for _, c := range r.checks() {
		if c.bad != 0 {
			n++
		}
	}
	return n
}

type check struct {
	name string
	bad  int64 // how many break it
}

func (r *report) checks() []check {
	return []check{
		{"the log's positions have no gap", r.Head - r.Log},
		{"no event up to the cursor is skipped", r.Skipped},
		{"no event is applied twice", r.Doubled},
		{"no event after the cursor is applied", r.Ahead},
		{"events are applied in the log's order", r.Unordered},
		{"lines are those of the log, with the balance after each", r.WrongLines},
		{"balances are the sums of the log up to the cursor", r.WrongSums},
	}
}

func (r *report) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "log     %d events, of which %d are applied and %d are left; %d effects\n", r.Log, r.Cursor, r.left(), r.Lines)
	for _, c := range r.checks() {
		if c.bad == 0 {
			fmt.Fprintf(w, "ok      %s\n", c.name)
		} else {
			fmt.Fprintf(w, "FAILED  %s: %d\n", c.name, c.bad)
		}
	}
	return err
}
