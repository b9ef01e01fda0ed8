package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/bench/internal/effect"
	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
)

const onceAim = 0.75

const onceHead = `
| | the one, transactions/s | the other, transactions/s | the other / the one | least to most | aim |
|---|---:|---:|---:|---:|---:|
`

// onceLines are what is compared, by the index of the side.
var onceLines = []struct {
	title      string
	one, other int
	aim        float64 // the least that the ratio may be; 0: none was set
}{
	{"the INSERT alone; Once around it", alone, once, onceAim},
	{"the INSERT alone; a marker table by hand around it", alone, marked, 0},
	{"a marker table by hand around the INSERT; Once around it", marked, once, 0},
}

// The sides, and their transactions.
const (
	alone = iota
	marked
	once
)

var onceSides = []effect.Run{alone: effect.Alone, marked: effect.Marked, once: effect.Once}

func measureOnce(ctx context.Context, s *server.Server, o options) (string, error) {
	if err := s.Exec(ctx, effect.Tables...); err != nil {
		return "", err
	}
	url, err := s.SocketURL()
	if err != nil {
		return "", err
	}
	pool, err := server.Pool(ctx, url, o.clients)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	for _, warm := range onceSides { // connections, statements, the bodies of the functions
		if _, err := throughput(ctx, s, pool, warm, o.clients, time.Second); err != nil {
			return "", err
		}
	}
	rates := make([][]float64, len(onceSides)) // by side, of each round
	for round := range o.pairs {
		for i := range onceSides { // each round begins with another side
			side := (round + i) % len(onceSides)
			rate, err := throughput(ctx, s, pool, onceSides[side], o.clients, time.Duration(o.seconds)*time.Second)
			if err != nil {
				return "", err
			}
			rates[side] = append(rates[side], rate)
		}
	}
	text := onceHead
	for _, line := range onceLines {
		ratios := make([]float64, o.pairs)
		for round := range ratios {
			ratios[round] = rates[line.other][round] / rates[line.one][round]
		}
		aim, ratio := "", report.Median(ratios)
		if line.aim > 0 {
			aim = fmt.Sprintf("≥ %.2f", line.aim)
			if ratio < line.aim {
				aim += " (missed)"
			}
		}
		text += fmt.Sprintf("| %s, %d clients | %.0f | %.0f | %.2f | %.2f to %.2f | %s |\n", line.title, o.clients,
			report.Median(rates[line.one]), report.Median(rates[line.other]), ratio, slices.Min(ratios), slices.Max(ratios), aim)
	}
	return text, nil
}

// throughput is how many transactions a second the clients commit, from empty tables. Every key is a new one.
func throughput(ctx context.Context, s *server.Server, pool *pgxpool.Pool, run effect.Run, clients int, length time.Duration) (float64, error) {
	if err := s.Exec(ctx, `truncate queen.kv, bench.effect, bench.marker`, `checkpoint`); err != nil {
		return 0, err
	}
	return effect.Rate(ctx, s.Conn, clients, length, func(ctx context.Context, key string) error {
		replayed, err := run(ctx, pool, key)
		if err == nil && replayed {
			err = errors.New("a new key was taken")
		}
		return err
	})
}
