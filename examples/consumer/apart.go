package main

import (
	"context"
)

// stepApart is step as it is often written, and wrong: the effects are committed, and then the cursor is. A crash between
// the two, or a second replica that read the same cursor, applies events twice. (The other way round they would be skipped.)
// It is here for -cursor-apart, to show that the checks see it.
func (c *consumer) stepApart(ctx context.Context) (applied int, err error) {
	tx, err := c.pool.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx) // does nothing after COMMIT
	version, events, err := c.next(ctx, tx)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	if err := apply(ctx, tx, events); err != nil {
		return 0, err
	}
	if err := tx.Commit(ctx); err != nil {
		return 0, err
	}
	return len(events), c.advance(ctx, c.pool, version, events)
}
