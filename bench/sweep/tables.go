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

const growthHead = "\nShared buffers that a step asks for, for each row it deletes; shuffled expiry. One step in 8 is looked at, the first too:\n\n" +
	"| rows in the table | step | first step | last full step | median | most |\n|---:|---:|---:|---:|---:|---:|\n"

// buffers drains the expired rows beside so many live ones, and tells the buffers that a deleted row takes: lines for under growthHead.
func (b *bench) buffers(ctx context.Context, live int) (text string, err error) {
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
		text += fmt.Sprintf("| %d | %d | %.2f | %.2f | %.2f | %.2f |\n", live+b.puts+b.sizes.expired, n, full[0], full[len(full)-1],
			report.Median(full), slices.Max(full))
	}
	return text, nil
}

// drainAim is the least that the function's rows a second may be of those by hand.
const drainAim = 0.9

// speed drains the table by steps of both sides.
func (b *bench) speed(ctx context.Context) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "\nDraining %d expired rows beside %d live ones. Times are of steps by both sides, medians over %d pairs; a step's time is of the function:\n\n"+
		"| expiry | step | by hand, rows/s | function, rows/s | ratio, aim ≥ %.1f | least to most | without the last step | median step, ms | longest step but the last, ms | last step by hand, ms | last step, ms | "+
		"WAL bytes a row by hand | WAL bytes, function |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n", b.sizes.expired, b.live, b.sizes.pairs, drainAim)
	var names []string
	var hand, called []float64
	for _, o := range []order{inOrder, shuffled} {
		for _, n := range stepSizes {
			p, err := b.pairs(ctx, o, n)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&text, "| %s | %d %s\n", o.name, n, p.line())
			names = append(names, fmt.Sprintf("%s, %d", o.name, n))
			hand, called = append(hand, report.Median(p.rates[byHand.name])), append(called, report.Median(p.rates[function.name]))
		}
	}
	if err := chartDrains(b.plots, names, hand, called); err != nil {
		return "", err
	}
	whole, err := b.atOnce(ctx)
	return text.String() + whole + plotOfDrains, err
}

// drains are the pairs of one line.
type drains struct {
	rates, before, last, wal map[string][]float64 // rows a second of all steps and of those before the last, its seconds, bytes a row; by side
	seconds                  []float64            // of the function's steps before the last
}

// pairs drains by both sides, in turns.
func (b *bench) pairs(ctx context.Context, o order, n int) (drains, error) {
	p := drains{rates: map[string][]float64{}, before: map[string][]float64{}, last: map[string][]float64{}, wal: map[string][]float64{}}
	for pair := range b.sizes.pairs {
		sides := []step{byHand, function}
		if pair%2 == 1 {
			slices.Reverse(sides)
		}
		for _, s := range sides {
			if err := b.fillExpired(ctx, o); err != nil {
				return p, err
			}
			d, err := b.run(ctx, s, n)
			if err != nil {
				return p, err
			}
			all, before := d.perSecond()
			for _, v := range []struct {
				of    map[string][]float64
				value float64
			}{{p.rates, all}, {p.before, before}, {p.last, d.last}, {p.wal, d.wal}} {
				v.of[s.name] = append(v.of[s.name], v.value)
			}
			if s.name == function.name {
				p.seconds = append(p.seconds, d.seconds...)
			}
		}
	}
	return p, nil
}

func (p drains) line() string {
	ratios := ofBoth(p.rates)
	ratio := report.Median(ratios)
	return fmt.Sprintf("| %.0f | %.0f | %.2f%s | %.2f to %.2f | %.2f | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f |",
		report.Median(p.rates[byHand.name]), report.Median(p.rates[function.name]), ratio, missed(ratio < drainAim), slices.Min(ratios), slices.Max(ratios),
		report.Median(ofBoth(p.before)), 1000*report.Median(p.seconds), 1000*slices.Max(p.seconds),
		1000*report.Median(p.last[byHand.name]), 1000*report.Median(p.last[function.name]),
		report.Median(p.wal[byHand.name]), report.Median(p.wal[function.name]))
}

// ofBoth are the pairs' ratios of the function to by hand.
func ofBoth(of map[string][]float64) (ratios []float64) {
	for i, hand := range of[byHand.name] {
		ratios = append(ratios, of[function.name][i]/hand)
	}
	return ratios
}

// atOnce is the one statement that needs no loop: all rows in one transaction.
func (b *bench) atOnce(ctx context.Context) (string, error) {
	if err := b.fillExpired(ctx, shuffled); err != nil {
		return "", err
	}
	begin := time.Now()
	tag, err := b.server.Conn.Exec(ctx, `delete from queen.kv where expires_at <= statement_timestamp()`)
	if err != nil {
		return "", err
	}
	took := time.Since(begin).Seconds()
	d := drain{rows: int(tag.RowsAffected())}
	if err := b.check(ctx, step{name: "one DELETE"}, d); err != nil {
		return "", err
	}
	return fmt.Sprintf("\nFor comparison, one `DELETE ... WHERE expires_at <= now()`, a single transaction of %d rows that nobody can stop half-way: %.0f rows/s, shuffled.\n",
		d.rows, float64(d.rows)/took), nil
}
