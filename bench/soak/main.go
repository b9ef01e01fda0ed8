// Soak measures what time does to queen.kv: it churns markers, counters and leases with TTLs while the sweeper and autovacuum run, once
// for each value of each storage setting, and recommends values.
//
//	go run ./soak [flags]		(in bench/; make soak does it)
//
// Every run has a new cluster, made of the PostgreSQL binaries that KV_TEST_POSTGRES_BIN names, or that are on this machine, with the
// schema installed and one setting changed (variants.go). Clients then call at a rate that is the same in all runs (load.go), so that
// sizes and dead rows are those of equal work, for some turnovers of the live set; figures come from the last half of that time. What
// the program calls better is decided by a written rule (rule.go), and what the rule takes is run once more, all together.
//
// The sizes are environment variables (sizes.go). With -out the figures go into a Markdown page, with -plots the plots into a folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/queenkv/queenkv/bench/internal/program"
	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
)

func main() {
	out := flag.String("out", "", "write the result into this Markdown `file`, between its soak markers")
	plots := flag.String("plots", "", "write the plots into this `folder`")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	program.Main("soak", func(ctx context.Context) error { return run(ctx, *out, *plots) })
}

func run(ctx context.Context, out, plots string) error {
	size, err := readSizes()
	if err != nil {
		return err
	}
	page := report.Block{Path: out, Target: "soak"}
	if err := page.Check(); err != nil {
		return err
	}
	bin, err := server.Binaries()
	if err != nil {
		return err
	}
	s := &soak{bin: bin, sizes: size, machine: report.Machine()}
	if err := s.all(ctx); err != nil {
		return err
	}
	text := s.report()
	if plots != "" {
		names, err := s.plot(plots)
		if err != nil {
			return err
		}
		for _, name := range names {
			link, err := filepath.Rel(filepath.Dir(out), filepath.Join(plots, name))
			if err != nil { // one of the two is absolute
				link = filepath.Join(plots, name)
			}
			text += fmt.Sprintf("\n![%s](%s)\n", strings.TrimSuffix(name, ".svg"), filepath.ToSlash(link))
		}
	}
	fmt.Print("\n" + text)
	return page.Write(text)
}
