package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
)

// A bench is the server, and which table is in it.
type bench struct {
	server *server.Server
	size   sizes
	loaded string   // the table, by cell.table
	loads  []string // what was loaded, and how long it took
	runs   int
	began  time.Time
}

// A line is an operation in a cell, by one contender: medians over the rounds, and the extremes of the ratio.
type line struct {
	cell                   cell
	op, side               string
	perSecond, p50, p99    float64
	wal                    float64
	ratio, lowest, highest float64 // to the operation's first contender
	first                  bool    // it is that one
	writes                 bool
}

func (l line) micros() float64 { return 1e6 * float64(l.cell.clients) / l.perSecond }

// measure runs every cell, and prints each line when it is there. On each table, what inserts comes first: a put leaves holes all over
// the table, which the rows of putIfAbsent and Once would fill, with a full-page image for each few rows; a table by hand has none.
func (b *bench) measure(ctx context.Context) (lines []line, err error) {
	b.began = time.Now()
	all := cells(b.size)
	measured := make([][]line, len(all))
	for first := 0; first < len(all); {
		end := first
		for end < len(all) && all[end].table() == all[first].table() {
			end++
		}
		for _, inserts := range []bool{true, false} {
			for i := first; i < end; i++ {
				c := all[i]
				c.ops = slices.DeleteFunc(slices.Clone(c.ops), func(o op) bool { return o.inserts != inserts })
				some, err := b.cell(ctx, c)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.place(), err)
				}
				measured[i] = append(measured[i], some...)
			}
		}
		first = end
	}
	return slices.Concat(measured...), nil
}

func (b *bench) cell(ctx context.Context, c cell) (lines []line, err error) {
	if len(c.ops) == 0 {
		return nil, nil
	}
	if err := b.load(ctx, c); err != nil {
		return nil, err
	}
	if err := b.set(ctx, c.settings); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.reset(ctx, c.settings)) }()
	conns, err := b.connect(ctx, c.clients)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hangUp(ctx, conns)) }()
	for _, o := range c.ops {
		begin := time.Now()
		some, err := b.op(ctx, c, o, conns)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
		for _, l := range some {
			fmt.Print(l.row())
		}
		fmt.Printf("  (%s, %s: %.1f s)\n", c.place(), o.name, time.Since(begin).Seconds())
		lines = append(lines, some...)
	}
	return lines, nil
}

// op runs the rounds of one operation.
func (b *bench) op(ctx context.Context, c cell, o op, conns []*pgx.Conn) ([]line, error) {
	if err := b.check(ctx, c, o); err != nil {
		return nil, err
	}
	if err := b.clean(ctx, o); err != nil {
		return nil, err
	}
	for _, s := range o.sides { // statements, the bodies of the functions, the cache
		if _, err := b.run(ctx, c, s, conns, 0, b.size.warm); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	readings := make([][]reading, len(o.sides))
	for round := range b.size.rounds {
		if c.hot { // the dead versions of one key would be what is measured
			if err := b.clean(ctx, o); err != nil {
				return nil, err
			}
		}
		for i := range o.sides {
			at := (round + i) % len(o.sides)
			if !o.reads { // or the first contender alone would write the full-page images
				if err := b.server.Exec(ctx, `checkpoint`); err != nil {
					return nil, err
				}
			}
			// A seed of its own: nobody is to find the pages that another has just brought into memory.
			r, err := b.run(ctx, c, o.sides[at], conns, 1+round*len(o.sides)+at, b.size.seconds)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.sides[at].name, err)
			}
			readings[at] = append(readings[at], r)
		}
	}
	lines := make([]line, len(o.sides))
	for i, s := range o.sides {
		lines[i] = sum(readings[i], readings[0])
		lines[i].cell, lines[i].op, lines[i].side, lines[i].first, lines[i].writes = c, o.name, s.name, i == 0, !o.reads
	}
	return lines, nil
}

// sum is the line of a contender's readings, beside those of the first one.
func sum(rs, first []reading) line {
	var rates, wal, latencies, ratios []float64
	for i, r := range rs {
		rates, wal, ratios = append(rates, r.perSecond), append(wal, r.wal), append(ratios, r.perSecond/first[i].perSecond)
		latencies = append(latencies, r.latencies...)
	}
	slices.Sort(latencies)
	at := func(share float64) float64 { return latencies[int(share*float64(len(latencies)-1))] }
	return line{perSecond: report.Median(rates), wal: report.Median(wal), p50: at(0.5), p99: at(0.99),
		ratio: report.Median(ratios), lowest: slices.Min(ratios), highest: slices.Max(ratios)}
}
