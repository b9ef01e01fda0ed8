package main

import (
	"context"
	"slices"
	"strconv"

	"github.com/queenkv/queenkv/bench/internal/report"
)

// A result is a cell's line: the medians over its pairs, and the extremes of the ratio.
type result struct {
	cell                   cell
	byHand, function       reading
	ratio, lowest, highest float64
}

// measure runs the pairs of a cell. All runs of a cell send the same number of calls, which takes
// about o.seconds: a run by the clock would give the faster side more dead rows to step over.
func (s *server) measure(ctx context.Context, c cell, o options) (result, error) {
	if err := s.prepare(ctx, c); err != nil {
		return result{}, err
	}
	if err := s.check(ctx, c); err != nil {
		return result{}, err
	}
	calls, err := s.callsFor(ctx, c, o)
	if err != nil {
		return result{}, err
	}
	var byHand, function []reading
	var ratios []float64
	for pair := range o.pairs {
		h, f, err := s.pair(ctx, c, o.clients, pair, "-t", calls)
		if err != nil {
			return result{}, err
		}
		byHand, function = append(byHand, h), append(function, f)
		ratios = append(ratios, h.micros/f.micros)
	}
	return result{
		cell: c, byHand: medians(byHand), function: medians(function),
		ratio: report.Median(ratios), lowest: slices.Min(ratios), highest: slices.Max(ratios),
	}, nil
}

// callsFor finds, by a second of each side, how many calls a client sends in o.seconds, in the mean
// of the two sides.
func (s *server) callsFor(ctx context.Context, c cell, o options) (string, error) {
	h, f, err := s.pair(ctx, c, o.clients, 0, "-T", "1")
	if err != nil {
		return "", err
	}
	calls := 1e6 * float64(o.seconds) / ((h.transaction + f.transaction) / 2)
	return strconv.Itoa(max(1, int(calls))), nil
}

// pair runs both sides with the same arguments, by hand first in an even pair.
func (s *server) pair(ctx context.Context, c cell, clients, number int, limit ...string) (byHand, function reading, err error) {
	sides := []struct {
		statements []string
		reading    *reading
	}{{c.byHand, &byHand}, {[]string{c.function}, &function}}
	if number%2 == 1 {
		slices.Reverse(sides)
	}
	for _, side := range sides {
		if err = s.load(ctx, c); err != nil {
			return
		}
		// The first to look at what was just loaded cleans up in the catalogs, which writes WAL.
		if _, err = s.bench(ctx, c, side.statements, 1, 1000+number, "-t", "20"); err != nil {
			return
		}
		if *side.reading, err = s.bench(ctx, c, side.statements, clients, 1+number, limit...); err != nil {
			return
		}
	}
	return
}

// medians takes the median of each number of the readings by itself.
func medians(rs []reading) reading {
	var micros, wal []float64
	for _, r := range rs {
		micros, wal = append(micros, r.micros), append(wal, r.wal)
	}
	return reading{micros: report.Median(micros), wal: report.Median(wal)}
}
