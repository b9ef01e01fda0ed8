// Instructions counts the processor instructions that a call costs the server, beside the statement by hand: a number that a busy
// machine does not change.
//
//	go run ./instructions [-out file] [-only regexp]	(in bench/; make bench-instructions does it)
//
// It needs valgrind. It makes a throwaway cluster of the PostgreSQL binaries that KV_TEST_POSTGRES_BIN names, or that are on this
// machine, shuts it down, and runs statements in single-user mode under callgrind, each on a fresh copy of the data: in a loop, a
// transaction for each round. A statement's count is the difference between a long and a short loop, for each round, without what an
// empty round costs. What a client, the protocol, the disk and waiting cost is not in it, and an instruction is no time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/queenkv/queenkv/bench/internal/program"
	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
)

func main() {
	out := flag.String("out", "", "write the result into this Markdown `file`, between its bench-instructions markers")
	only := flag.String("only", "", "only the lines whose title matches this `regexp`")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	program.Main("bench-instructions", func(ctx context.Context) error { return run(ctx, *out, *only) })
}

func run(ctx context.Context, out, only string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	page := report.Block{Path: out, Target: "bench-instructions"}
	if out != "" {
		if only != "" {
			return fmt.Errorf("-out wants all lines: leave -only away")
		}
		if err := page.Check(); err != nil {
			return err
		}
	}
	return server.With(ctx, false, func(s *server.Server) error {
		c, err := newCounter(ctx, s)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("- %s, `go run ./instructions` in bench/, PostgreSQL %s\n%s", time.Now().UTC().Format(time.DateOnly), c.version, head)
		fmt.Print(text)
		for _, l := range lines {
			if !wanted.MatchString(l.title) {
				continue
			}
			row, err := l.row(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", l.title, err)
			}
			fmt.Print(row)
			text += row
		}
		return page.Write(text)
	})
}

const head = `
| | by hand, thousands | function, thousands | by hand / function |
|---|---:|---:|---:|
`

func (l line) row(ctx context.Context, c *counter) (string, error) {
	byHand, err := c.count(ctx, l.byHand)
	if err != nil {
		return "", err
	}
	if l.function == "" {
		return fmt.Sprintf("| %s | %.0f | | |\n", l.title, byHand), nil
	}
	function, err := c.count(ctx, l.function)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("| %s | %.0f | %.0f | %.2f |\n", l.title, byHand, function, byHand/function), nil
}
