package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
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
	var settings []string
	for _, name := range []string{"server_version", "shared_buffers", "fsync", "full_page_writes", "synchronous_commit",
		"wal_level", "autovacuum", "checkpoint_timeout", "max_wal_size", "jit"} {
		var value string
		if err := s.conn.QueryRow(ctx, `select current_setting($1)`, name).Scan(&value); err != nil {
			return "", err
		}
		settings = append(settings, name+" = "+value)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "- %s, `go run ./sql -pairs %d -seconds %d -clients %d -fsync=%t` in bench/\n",
		time.Now().UTC().Format(time.DateOnly), o.pairs, o.seconds, o.clients, o.fsync)
	fmt.Fprintf(&b, "- %s/%s, %d cores%s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), loadAverage())
	fmt.Fprintf(&b, "- PostgreSQL: %s\n", strings.Join(settings, ", "))
	fmt.Fprintf(&b, "- %d rows in the table when a run begins\n", tableRows)
	fmt.Fprintf(&b, "- the first kv_apply_v1 of a connection, part of every run: %.0f ms\n", first.Seconds()*1e3)
	return b.String(), nil
}

// firstCall returns how long kv_apply_v1 takes in a new connection, the median of some.
func (s *server) firstCall(ctx context.Context) (time.Duration, error) {
	var nanos []float64
	for range 5 {
		conn, err := pgx.Connect(ctx, s.cluster.URL())
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
	return time.Duration(median(nanos)), nil
}

// loadAverage tells what else the machine was doing, where Linux tells it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(text), " ")
	return ", load average before the run " + one
}

const (
	blockBegin = "<!-- bench-sql: begin; written by make bench-sql -->\n"
	blockEnd   = "<!-- bench-sql: end -->\n"
)

// checkMarkers fails early, before minutes of measuring.
func checkMarkers(path string) error {
	_, _, err := outside(path)
	return err
}

// writeBlock replaces what stands between the markers of a file.
func writeBlock(path, text string) error {
	head, tail, err := outside(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(head+"\n"+text+"\n"+tail), 0o644)
}

// outside returns a file's text up to and with the first marker, and from the second on.
func outside(path string) (head, tail string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	head, rest, ok1 := strings.Cut(string(text), blockBegin)
	_, tail, ok2 := strings.Cut(rest, blockEnd)
	if !ok1 || !ok2 {
		return "", "", errors.New(path + " lacks the marker lines " + blockBegin + blockEnd)
	}
	return head + blockBegin, blockEnd + tail, nil
}
