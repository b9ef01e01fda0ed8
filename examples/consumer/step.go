package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

// cursorKey is where the position of the last applied event is kept, in the namespace of the schema's cursors. A second kind
// of consumer would have a key, and effects, of its own.
const cursorKey = "statements"

// A consumer applies the log's events. It is safe to run any number of them; they keep nothing in memory between two steps.
type consumer struct {
	pool        *pgxpool.Pool
	cursors     kvpg.Namespace
	batch       int
	cursorApart bool // see apart.go
}

// step is the whole idea: it reads the events after the cursor, advances the cursor over them and applies them, in one
// transaction. It gives the number of events applied, 0 when there was none to apply.
//
// The cursor is advanced over the version that was read, and Required: when another replica has moved it meanwhile, step
// fails with kvpg.ErrPreconditionFailed and the transaction can't commit. It is advanced before the effects, since its row
// is also where replicas meet: the second one waits there, and has done nothing yet when it learns that it has lost.
//
// After any error, a connection lost during COMMIT included, the next step is right: the cursor tells what was applied.
func (c *consumer) step(ctx context.Context) (applied int, err error) {
	if c.cursorApart {
		return c.stepApart(ctx)
	}
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		version, events, err := c.next(ctx, tx)
		if err != nil || len(events) == 0 {
			return err
		}
		if err := c.advance(ctx, tx, version, events); err != nil {
			return err
		}
		applied = len(events)
		return apply(ctx, tx, events)
	})
	if err != nil {
		return 0, err
	}
	return applied, nil
}

// next reads the cursor and the events after it.
func (c *consumer) next(ctx context.Context, tx pgx.Tx) (kvpg.Version, []event, error) {
	cursor, ok, err := kvpg.Get(ctx, tx, c.cursors, cursorKey)
	if err != nil {
		return cursor.Version, nil, err
	}
	var after int64 // 0, and the zero Version, where there is no cursor yet
	if ok {
		if after, err = cursor.Int64(); err != nil {
			return cursor.Version, nil, fmt.Errorf("the cursor: %w", err)
		}
	}
	events, err := readEvents(ctx, tx, after, c.batch)
	if err != nil {
		return cursor.Version, nil, err
	}
	for i, e := range events {
		if want := after + int64(i) + 1; e.position != want {
			return cursor.Version, nil, fmt.Errorf("the log has no position %d, and goes on at %d: who wrote it without appendEvents?", want, e.position)
		}
	}
	return cursor.Version, events, nil
}

// advance moves the cursor to the last of events, if it still has the version that next read. With the zero Version it
// must not be there: two replicas can't both make it.
func (c *consumer) advance(ctx context.Context, db kvpg.DB, version kvpg.Version, events []event) error {
	last := events[len(events)-1].position
	_, err := kvpg.Put(ctx, db, c.cursors, cursorKey, last, kvpg.Forever(),
		&kvpg.PutOptions{Expect: kvpg.ExpectVersion(version), Required: true})
	return err
}

// apply writes a line of the account's statement for each event, in order and in one round trip.
func apply(ctx context.Context, tx pgx.Tx, events []event) error {
	var batch pgx.Batch
	for _, e := range events {
		batch.Queue(`
			with now as (
				insert into balance as b (account, cents) values ($2, $3)
				on conflict (account) do update set cents = b.cents + excluded.cents returning cents
			)
			insert into statement (position, account, cents, balance) select $1, $2, $3, cents from now`,
			e.position, e.account, e.cents)
	}
	return tx.SendBatch(ctx, &batch).Close()
}
