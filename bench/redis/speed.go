package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/queenkv/queenkv/bench/internal/effect"
	"github.com/queenkv/queenkv/bench/internal/report"
)

// A side is what is timed.
type side struct {
	title  string
	handle func(ctx context.Context, s stores, key string, between func()) error
	sync   string // Redis' appendfsync
}

// sides begin with the one that the others are compared with.
var sides = []side{
	{"the effect alone, no marker", alone, ""},
	{orders[0].title + ", appendfsync everysec", markerFirst, "everysec"},
	{orders[0].title + ", appendfsync always", markerFirst, "always"},
	{orders[1].title + ", appendfsync everysec", effectFirst, "everysec"},
	{orders[1].title + ", appendfsync always", effectFirst, "always"},
	{orders[2].title, together, ""},
}

// speeds times every side in every round; each round begins with another one.
func (r *rig) speeds(ctx context.Context, rounds, clients int, length time.Duration) (string, error) {
	for _, s := range sides { // connections, statements, the bodies of the functions
		if _, err := r.throughput(ctx, s, clients, min(length, time.Second)); err != nil {
			return "", err
		}
	}
	rates := make([][]float64, len(sides)) // by side, of each round
	for round := range rounds {
		for i := range sides {
			at := (round + i) % len(sides)
			rate, err := r.throughput(ctx, sides[at], clients, length)
			if err != nil {
				return "", err
			}
			rates[at] = append(rates[at], rate)
		}
	}
	text := fmt.Sprintf("\nNew messages, %d clients. The ratio is to the effect alone in the same round, its median and extremes:\n\n", clients) +
		"| | messages/s | least to most | ratio | least to most |\n|---|---:|---:|---:|---:|\n"
	for at, s := range sides {
		ratios := make([]float64, rounds)
		for round := range ratios {
			ratios[round] = rates[at][round] / rates[0][round]
		}
		text += fmt.Sprintf("| %s | %.0f | %.0f to %.0f | %.2f | %.2f to %.2f |\n", s.title, report.Median(rates[at]),
			slices.Min(rates[at]), slices.Max(rates[at]), report.Median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	return text, nil
}

// throughput is how many messages a second the clients handle, from empty stores. Each message is new.
func (r *rig) throughput(ctx context.Context, s side, clients int, length time.Duration) (float64, error) {
	if s.sync != "" {
		if err := r.stores.redis.ConfigSet(ctx, "appendfsync", s.sync).Err(); err != nil {
			return 0, err
		}
	}
	if err := r.clear(ctx); err != nil {
		return 0, err
	}
	rate, err := effect.Rate(ctx, r.postgres.Conn, clients, length, func(ctx context.Context, key string) error {
		return s.handle(ctx, r.stores, key, func() {})
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.title, err)
	}
	return rate, nil
}
