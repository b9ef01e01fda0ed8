package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/bench/internal/report"
)

const tableHead = `
| | by hand, µs | function, µs | ratio | least to most | aim | WAL bytes by hand | WAL bytes, function |
|---|---:|---:|---:|---:|---:|---:|---:|
`

func (r result) row() string {
	aim := ""
	if r.cell.aim > 0 {
		aim = fmt.Sprintf("≥ %.2f", r.cell.aim)
		if r.ratio < r.cell.aim {
			aim += " (missed)"
		}
	}
	return fmt.Sprintf("| %s (`%s`) | %.1f | %.1f | %.2f | %.2f to %.2f | %s | %.1f | %.1f |\n", r.cell.title, r.cell.name,
		r.byHand.micros, r.function.micros, r.ratio, r.lowest, r.highest, aim, r.byHand.wal, r.function.wal)
}

// describe tells when, where and how the numbers were made.
func (s *server) describe(ctx context.Context, o options) (string, error) {
	first, err := s.firstCall(ctx)
	if err != nil {
		return "", err
	}
	settings, err := s.Settings(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "- %s, `go run ./sql -pairs %d -seconds %d -clients %d -fsync=%t` in bench/\n",
		time.Now().UTC().Format(time.DateOnly), o.pairs, o.seconds, o.clients, o.fsync)
	fmt.Fprintf(&b, "- %s\n", report.Machine())
	fmt.Fprintf(&b, "- PostgreSQL: %s\n", settings)
	fmt.Fprintf(&b, "- %d rows in the table when a run begins\n", tableRows)
	fmt.Fprintf(&b, "- the first kv_apply_v1 of a connection, part of every run: %.0f ms\n", first.Seconds()*1e3)
	return b.String(), nil
}

// firstCall returns how long kv_apply_v1 takes in a new connection, the median of some.
func (s *server) firstCall(ctx context.Context) (time.Duration, error) {
	var nanos []float64
	for range 5 {
		conn, err := pgx.Connect(ctx, s.Cluster.URL())
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		_, err = conn.Exec(ctx, `select queen.kv_apply_v1('[{"op": "put", "ns": "bench", "key": "first", "value": 1, "forever": true}]')`)
		nanos = append(nanos, float64(time.Since(begin)))
		if err := errors.Join(err, conn.Close(ctx)); err != nil {
			return 0, err
		}
	}
	return time.Duration(report.Median(nanos)), nil
}
