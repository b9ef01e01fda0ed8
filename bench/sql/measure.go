package main

import (
	"context"
	"slices"
	"strconv"
)

// A result is a cell's line: the medians over its pairs, and the extremes of the ratio.
type result struct {
	cell                   cell
	byHand, function       reading
	ratio, lowest, highest float64
}

// measure runs the pairs of a cell.
func (s *server) measure(ctx context.Context, c cell, o options) (result, error) {
	if err := s.prepare(ctx, c); err != nil {
		return result{}, err
	}
	var byHand, function []reading
	var ratios []float64
	for pair := range o.pairs {
		var h, f reading
		sides := []func() error{
			func() (err error) { h, err = s.timed(ctx, c, c.byHand, o, pair); return err },
			func() (err error) { f, err = s.timed(ctx, c, []string{c.function}, o, pair); return err },
		}
		if pair%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			if err := side(); err != nil {
				return result{}, err
			}
		}
		byHand, function = append(byHand, h), append(function, f)
		ratios = append(ratios, h.micros/f.micros)
	}
	return result{
		cell: c, byHand: medians(byHand), function: medians(function),
		ratio: median(ratios), lowest: slices.Min(ratios), highest: slices.Max(ratios),
	}, nil
}

// timed is one run, from a table in its first state.
func (s *server) timed(ctx context.Context, c cell, statements []string, o options, pair int) (reading, error) {
	if err := s.load(ctx, c); err != nil {
		return reading{}, err
	}
	// The first to look at what was just loaded cleans up in the catalogs, which writes WAL.
	if _, err := s.bench(ctx, c, statements, o, 1000+pair, "-t", "20"); err != nil {
		return reading{}, err
	}
	return s.bench(ctx, c, statements, o, 1+pair, "-T", strconv.Itoa(o.seconds))
}

// medians takes the median of each number of the readings by itself.
func medians(rs []reading) reading {
	var calls, micros, wal []float64
	for _, r := range rs {
		calls, micros, wal = append(calls, float64(r.calls)), append(micros, r.micros), append(wal, r.wal)
	}
	return reading{calls: int(median(calls)), micros: median(micros), wal: median(wal)}
}

// median of at least one number.
func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
