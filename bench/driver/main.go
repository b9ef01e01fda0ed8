// Driver measures what kvpg costs beside the same work made by hand with pgx.
//
//	go run ./driver [flags]		(in bench/; make bench-driver does it)
//
// It starts throwaway clusters from the PostgreSQL binaries that KV_TEST_POSTGRES_BIN names, or that are on this machine, installs
// the schema, and talks to them over a Unix socket. It prints two tables in Markdown, and with -out writes them into a file.
//
//   - Calls (calls.go), with fsync off, so that no call waits for a disk: a call of the driver against the same SQL text with the
//     same arguments through pgx, on one connection. In a pair the two sides take turns every hundred calls, so that whatever else
//     the machine does meets both. Allocations are counted apart from the time.
//   - Once (once.go), with fsync on, so that every COMMIT does: an INSERT in a transaction, alone, with a marker table by hand
//     around it, and with Once around it, from some clients at once through one pool. Runs by the clock, in turn.
//
// A line's ratio is the median over its pairs, with the extremes beside it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/queenkv/queenkv/bench/internal/program"
	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
)

// options are the command line.
type options struct {
	pairs   int
	seconds int
	clients int
	out     string
}

func main() {
	program.Main("bench-driver", func(ctx context.Context) error { return run(ctx, parse()) })
}

func parse() options {
	var o options
	flag.IntVar(&o.pairs, "pairs", 7, "pairs of runs for each line")
	flag.IntVar(&o.seconds, "seconds", 3, "seconds of each run, about")
	flag.IntVar(&o.clients, "clients", 8, "clients at once around Once")
	flag.StringVar(&o.out, "out", "", "write the result into this Markdown `file`, between its bench-driver markers")
	flag.Parse()
	if flag.NArg() > 0 || min(o.pairs, o.seconds, o.clients) < 1 {
		flag.Usage()
		os.Exit(2)
	}
	return o
}

func run(ctx context.Context, o options) error {
	page := report.Block{Path: o.out, Target: "bench-driver"}
	if err := page.Check(); err != nil {
		return err
	}
	text := fmt.Sprintf("- %s, `go run ./driver -pairs %d -seconds %d -clients %d` in bench/\n- %s\n",
		time.Now().UTC().Format(time.DateOnly), o.pairs, o.seconds, o.clients, report.Machine())
	for _, part := range []struct {
		fsync   bool
		measure func(context.Context, *server.Server, options) (string, error)
	}{{false, measureCalls}, {true, measureOnce}} {
		table, err := on(ctx, part.fsync, func(s *server.Server) (string, error) { return part.measure(ctx, s, o) })
		if err != nil {
			return err
		}
		text += table
	}
	fmt.Print(text)
	return page.Write(text)
}

// on runs f on a cluster of its own, and puts the cluster's settings before what f tells.
func on(ctx context.Context, fsync bool, f func(*server.Server) (string, error)) (text string, err error) {
	err = server.With(ctx, fsync, func(s *server.Server) error {
		settings, err := s.Settings(ctx)
		if err != nil {
			return err
		}
		text, err = f(s)
		text = "\nPostgreSQL: " + settings + "\n" + text
		return err
	})
	return text, err
}
