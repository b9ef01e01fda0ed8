package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/bench/internal/effect"
)

// doneKeys is how many keys Once and the marker table know when a cell of duplicates begins.
const doneKeys = 500

func doneKey(n int) string { return fmt.Sprintf("done-%06d", n) }

// load fills the table of a cell, unless it is there: rows of random text, and a tenth as many counters.
func (b *bench) load(ctx context.Context, c cell) error {
	if b.loaded == c.table() {
		return nil
	}
	begin := time.Now()
	if b.loaded == "" {
		if err := b.server.Exec(ctx, effect.Tables...); err != nil {
			return err
		}
	}
	b.loaded = ""
	rows := make([][]any, textCount)
	for i := range rows {
		rows[i] = []any{i, texts[i][:c.value-14]}
	}
	err := b.server.Exec(ctx,
		`truncate queen.kv, bench.effect, bench.marker`,
		`drop table if exists bench.text`,
		`create table bench.text (id int primary key, text text not null)`)
	if err != nil {
		return err
	}
	if _, err := b.server.Conn.CopyFrom(ctx, pgx.Identifier{"bench", "text"}, []string{"id", "text"}, pgx.CopyFromRows(rows)); err != nil {
		return err
	}
	err = b.server.Exec(ctx,
		`analyze bench.text`,
		fmt.Sprintf(`insert into queen.kv (namespace, key, value, expires_at)
			select 'bench', 'row-' || lpad(i::text, 12, '0'), to_jsonb(lpad(i::text, 12, '0') || t.text), clock_timestamp() + interval '5 hours'
			from generate_series(1, %d) as i join bench.text as t on t.id = i %% %d`, c.rows, textCount),
		fmt.Sprintf(`insert into queen.kv (namespace, key, value, expires_at)
			select 'bench', 'counter-' || lpad(i::text, 12, '0'), to_jsonb(i), clock_timestamp() + interval '5 hours'
			from generate_series(1, %d) as i`, c.counters()))
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, b.server.Conn, func(tx pgx.Tx) error {
		for n := range doneKeys {
			for _, run := range []effect.Run{effect.Marked, effect.Once} {
				if _, err := run(ctx, tx, doneKey(n)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Not vacuumed before the inserts are over (see clean).
	if err := b.server.Exec(ctx, `analyze queen.kv`, `checkpoint`); err != nil {
		return err
	}
	b.loaded = c.table()
	b.loads = append(b.loads, fmt.Sprintf("%d rows of %d bytes and %d counters in %.0f s",
		c.rows, c.value, c.counters(), time.Since(begin).Seconds()))
	return nil
}

// clean takes away what the runs have added, and their dead rows, but for the dead rows of an operation that inserts: a vacuum tells
// PostgreSQL of the gap in each page of the loaded rows, which is too small for another of them. The rows of Once would then go into
// these gaps all over the table, each with a full-page image, where in a table of rows like themselves they share pages. (Of some gaps
// it knows without a vacuum: where putIfAbsent ran before it in the same cell, Once writes such images all the same.)
func (b *bench) clean(ctx context.Context, o op) error {
	vacuum := []string{`vacuum bench.marker`, `checkpoint`}
	if !o.inserts {
		vacuum = append([]string{`vacuum queen.kv`}, vacuum...)
	}
	return b.server.Exec(ctx, append([]string{
		`truncate bench.effect`,
		`delete from bench.marker where key like 'new-%'`,
		`delete from queen.kv where namespace in ('bench', 'once') and key >= 'new-' and key < 'new.'`,
	}, vacuum...)...)
}
