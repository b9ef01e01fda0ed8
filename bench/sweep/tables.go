package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queenkv/queenkv/bench/internal/report"
)

// stepSizes are the rows a step may delete.
var stepSizes = []int{1000, 10_000}

// growth drains the same expired rows from a small table and from the full one, and compares the buffers that a deleted row takes.
func (b *bench) growth(ctx context.Context) (string, error) {
	var text strings.Builder
	text.WriteString("\nShared buffers that a step asks for, for each row it deletes; shuffled expiry. One step in 8 is looked at, the first too:\n\n" +
		"| rows in the table | step | first step | last full step | median | most |\n|---:|---:|---:|---:|---:|---:|\n")
	for _, live := range []int{b.sizes.expired, b.sizes.rows - b.sizes.expired} {
		if err := b.fillLive(ctx, live); err != nil {
			return "", err
		}
		for _, n := range stepSizes {
			if err := b.fillExpired(ctx, shuffled); err != nil {
				return "", err
			}
			d, err := b.run(ctx, function, n)
			if err != nil {
				return "", err
			}
			// A step that ends a drain deletes a few rows, or none, and still looks into every shard.
			var full []float64
			for _, e := range d.buffers {
				if e.rows >= n/2 {
					full = append(full, e.perRow())
				}
			}
			if len(full) == 0 {
				return "", fmt.Errorf("no full step of %d rows was looked at", n)
			}
			fmt.Fprintf(&text, "| %d | %d | %.2f | %.2f | %.2f | %.2f |\n", live+b.sizes.expired, n, full[0], full[len(full)-1],
				report.Median(full), slices.Max(full))
		}
	}
	return text.String(), nil
}

// speed drains the full table by steps of both sides.
func (b *bench) speed(ctx context.Context) (string, error) {
	var text strings.Builder
	text.WriteString("\nDraining the full table. Times are of steps by both sides, medians over pairs; a step's time is of the function:\n\n" +
		"| expiry | step | by hand, rows/s | function, rows/s | ratio | least to most | median step, ms | longest step, ms | WAL bytes a row by hand | WAL bytes, function |\n" +
		"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, o := range []order{inOrder, shuffled} {
		for _, n := range stepSizes {
			row, err := b.pairs(ctx, o, n)
			if err != nil {
				return "", err
			}
			text.WriteString(row)
		}
	}
	whole, err := b.atOnce(ctx)
	return text.String() + whole, err
}

func (b *bench) pairs(ctx context.Context, o order, n int) (string, error) {
	rates, wal := map[string][]float64{}, map[string][]float64{}
	var ratios, seconds []float64
	for pair := range b.sizes.pairs {
		sides := []step{byHand, function}
		if pair%2 == 1 {
			slices.Reverse(sides)
		}
		for _, s := range sides {
			if err := b.fillExpired(ctx, o); err != nil {
				return "", err
			}
			d, err := b.run(ctx, s, n)
			if err != nil {
				return "", err
			}
			rates[s.name], wal[s.name] = append(rates[s.name], d.perSecond()), append(wal[s.name], d.wal)
			if s.name == function.name {
				seconds = append(seconds, d.seconds...)
			}
		}
		ratios = append(ratios, rates[function.name][pair]/rates[byHand.name][pair])
	}
	return fmt.Sprintf("| %s | %d | %.0f | %.0f | %.2f | %.2f to %.2f | %.1f | %.1f | %.0f | %.0f |\n", o.name, n,
		report.Median(rates[byHand.name]), report.Median(rates[function.name]), report.Median(ratios), slices.Min(ratios), slices.Max(ratios),
		1000*report.Median(seconds), 1000*slices.Max(seconds), report.Median(wal[byHand.name]), report.Median(wal[function.name])), nil
}

// atOnce is the one statement that needs no loop: all rows in one transaction.
func (b *bench) atOnce(ctx context.Context) (string, error) {
	if err := b.fillExpired(ctx, shuffled); err != nil {
		return "", err
	}
	d := drain{}
	begin := time.Now()
	tag, err := b.server.Conn.Exec(ctx, `delete from queen.kv where expires_at <= statement_timestamp()`)
	if err != nil {
		return "", err
	}
	d.seconds = []float64{time.Since(begin).Seconds()}
	d.rows, d.timed = int(tag.RowsAffected()), int(tag.RowsAffected())
	if err := b.check(ctx, step{name: "one DELETE"}, d); err != nil {
		return "", err
	}
	return fmt.Sprintf("\nFor comparison, one `DELETE ... WHERE expires_at <= now()`, a single transaction of %d rows that nobody can stop half-way: %.0f rows/s, shuffled.\n",
		d.rows, d.perSecond()), nil
}
