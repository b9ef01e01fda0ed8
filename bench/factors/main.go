// Factors measures each operation by hand, with kv_apply_v1 or a typed read, and with kvpg, in one base cell and with one factor varied
// at a time: clients, fsync, batch, size of the value, rows in the table, one hot key, duplicates.
//
//	go run ./factors [flags]		(in bench/; make bench does it)
//
// It starts a throwaway cluster from the PostgreSQL binaries that KV_TEST_POSTGRES_BIN names, or that are on this machine, installs the
// schema, and talks to it over the Unix socket. Client and server share the machine's cores.
//
// In a round each contender of an operation runs alone for about -seconds, on the same table, with keys drawn alike, after a
// checkpoint where it writes; the order turns from round to round. A ratio is of one round: the contender's calls a second over those of
// the first one, by hand. Reported are the median over the rounds, and the extremes. The program stops when contenders leave different
// rows, or find different ones.
//
// Every flag has a variable of the environment for its default: KV_BENCH_ROWS for -rows, and so on.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/queenkv/queenkv/bench/internal/program"
	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
)

func main() {
	size, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-factors:", err)
		os.Exit(2)
	}
	program.Main("bench-factors", func(ctx context.Context) error { return run(ctx, size) })
}

func parse(args []string) (sizes, error) {
	var s sizes
	set := flag.NewFlagSet("bench-factors", flag.ExitOnError)
	if err := s.register(set); err != nil {
		return s, err
	}
	set.StringVar(&s.out, "out", "", "write the result into this Markdown `file`, between its bench markers")
	set.StringVar(&s.plots, "plots", "", "draw the plots into this `folder`, which lies beside the file of -out")
	_ = set.Parse(args) // it exits
	if set.NArg() > 0 {
		return s, fmt.Errorf("what is %q?", set.Args())
	}
	return s, s.check()
}

func run(ctx context.Context, size sizes) error {
	page := report.Block{Path: size.out, Target: "bench"}
	if err := page.Check(); err != nil {
		return err
	}
	return server.With(ctx, true, func(s *server.Server) error {
		b := &bench{server: s, size: size}
		head, err := b.about(ctx)
		if err != nil {
			return err
		}
		fmt.Print(head)
		lines, err := b.measure(ctx)
		if err != nil {
			return err
		}
		images, err := draw(size, lines)
		if err != nil {
			return err
		}
		return page.Write(head + b.duration() + images + tables(lines))
	})
}
