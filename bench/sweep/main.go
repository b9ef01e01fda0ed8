// Sweep measures what sweeping costs: how fast kv_expire_step_v1 drains a backlog, beside DELETEs written by hand, and how much WAL it
// writes; how long puts take while kv-sweeper drains, and how much memory that has; whether a step reads more as the table grows.
//
//	go run ./sweep -sweeper program [-out file]	(in bench/; make bench-sweep does it)
//
// Sizes come from the environment: KV_BENCH_ROWS (5000000), of which KV_BENCH_EXPIRED (1000000) have expired, and KV_BENCH_PAIRS (3),
// how often each line is measured. KV_SWEEPER_DUTY_CYCLE is passed on to the sweeper beside the puts.
//
// It starts a throwaway cluster from the PostgreSQL binaries that KV_TEST_POSTGRES_BIN names, or that are on this machine. Live rows are
// loaded once: as many as there are expired ones at first, the rest before the growth is measured. Before each drain the rows that the
// one before has deleted are vacuumed away and as many expired ones are inserted again, in the order of their expiry or shuffled; then
// steps run until nothing is left. Both sides of a pair find the table in the same state, and turn at going first. The program fails
// when a side leaves an expired row or deletes a live one, and when a step's plans are not what they must be.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/queenkv/queenkv/bench/internal/program"
	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
)

// sizes are what the environment says.
type sizes struct{ rows, expired, pairs int }

func main() {
	out := flag.String("out", "", "write the result into this Markdown `file`, between its bench-sweep markers")
	sweeper := flag.String("sweeper", "bin/kv-sweeper", "the `program` that make kv-sweeper builds")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	program.Main("bench-sweep", func(ctx context.Context) error { return run(ctx, *sweeper, *out) })
}

func run(ctx context.Context, sweeper, out string) error {
	size, err := readSizes()
	if err != nil {
		return err
	}
	if sweeper, err = exec.LookPath(sweeper); err != nil {
		return fmt.Errorf("%w: make kv-sweeper builds it, and -sweeper names it", err)
	}
	page := report.Block{Path: out, Target: "bench-sweep"}
	if err := page.Check(); err != nil {
		return err
	}
	return server.With(ctx, false, func(s *server.Server) error {
		b := &bench{server: s, sizes: size, sweeper: sweeper}
		if out != "" {
			b.plots = filepath.Join(filepath.Dir(out), "plots")
		}
		text, err := b.measure(ctx)
		if err != nil {
			return err
		}
		return page.Write(text)
	})
}

// measure runs everything, and prints each part when it is there.
func (b *bench) measure(ctx context.Context) (string, error) {
	var text strings.Builder
	var small string // the growth's lines of the small table
	for _, part := range []func(context.Context) (string, error){
		b.about,
		func(ctx context.Context) (_ string, err error) {
			small, err = b.buffers(ctx, b.sizes.expired)
			return "", err
		},
		b.speed,
		b.foreground,
		func(ctx context.Context) (string, error) {
			full, err := b.buffers(ctx, b.sizes.rows-b.sizes.expired)
			return growthHead + small + full, err
		},
		b.plans,
	} {
		some, err := part(ctx)
		if err != nil {
			return "", err
		}
		fmt.Print(some)
		text.WriteString(some)
	}
	return text.String(), nil
}

// about tells when, where and with what sizes the numbers were made.
func (b *bench) about(ctx context.Context) (string, error) {
	settings, err := b.server.Settings(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("- %s, `KV_BENCH_ROWS=%d KV_BENCH_EXPIRED=%d KV_BENCH_PAIRS=%d make bench-sweep`\n- %s\n- PostgreSQL: %s\n",
		time.Now().UTC().Format(time.DateOnly), b.sizes.rows, b.sizes.expired, b.sizes.pairs, report.Machine(), settings), nil
}

func readSizes() (s sizes, err error) {
	for _, v := range []struct {
		name  string
		into  *int
		usual int
	}{{"KV_BENCH_ROWS", &s.rows, 5_000_000}, {"KV_BENCH_EXPIRED", &s.expired, 1_000_000}, {"KV_BENCH_PAIRS", &s.pairs, 3}} {
		*v.into = v.usual
		if text := os.Getenv(v.name); text != "" {
			if *v.into, err = strconv.Atoi(text); err != nil || *v.into < 1 {
				return s, fmt.Errorf("%s=%s: want a number above 0", v.name, text)
			}
		}
	}
	if s.expired < 20_000 || s.rows < 3*s.expired {
		return s, fmt.Errorf("%d rows of which %d are expired: want at least 20000 expired ones, and three times as many rows", s.rows, s.expired)
	}
	return s, nil
}
