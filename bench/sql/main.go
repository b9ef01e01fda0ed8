// Sql measures what queen.kv's SQL functions cost beside hand-written prepared statements.
//
//	go run ./sql [flags]		(in bench/; make bench-sql does it)
//
// It starts a throwaway cluster from the PostgreSQL binaries that KV_TEST_POSTGRES_BIN names, or
// that are on this machine, installs the schema, and runs pgbench -M prepared over the cluster's
// Unix socket: for each cell pairs of runs, one by hand and one with the function, the order
// turning from pair to pair. It prints a table in Markdown, and with -out writes it into a file.
//
// The ratio of a cell is the median over its pairs of (time a call by hand / time a call with the
// function): 1 is as fast, 0.5 is half as fast. Both sides send the same number of calls with the
// same arguments to the same rows of the same table queen.kv, which is loaded anew before every
// run; cells.go holds the statements, and the program refuses to go on when the two sides of a
// cell leave different rows behind, or find different ones.
//
// What is timed: pgbench can't put a random key into a JSON text, so each transaction first
// fetches its arguments (a key, a value, the text of an ops array) by a query with \gset, and then
// sends the statement that is measured, with these arguments as parameters, as a driver would.
// The fetch is the same on both sides, pgbench times it alone (-r), and it is subtracted from the
// time of the transaction. So the function pays for reading its JSON, and nobody for making it.
// It also pays for its first call in the run's connection, in which PL/pgSQL compiles: the report
// says how long that is, so that it can be held against the length of a run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/queenkv/queenkv/bench/internal/program"
	"github.com/queenkv/queenkv/bench/internal/report"
)

// options are the command line.
type options struct {
	pairs   int
	seconds int
	clients int
	fsync   bool
	only    string
	out     string
}

func main() {
	program.Main("bench-sql", func(ctx context.Context) error { return run(ctx, parse()) })
}

func parse() options {
	var o options
	flag.IntVar(&o.pairs, "pairs", 7, "pairs of runs for each cell")
	flag.IntVar(&o.seconds, "seconds", 3, "seconds of each run, about")
	flag.IntVar(&o.clients, "clients", 1, "clients at once")
	flag.BoolVar(&o.fsync, "fsync", false, "fsync and full_page_writes on; both sides then wait for the disk, and ratios of writes go towards 1")
	flag.StringVar(&o.only, "only", "", "`cells` to run, with commas; empty for all of: "+strings.Join(cellNames(), ","))
	flag.StringVar(&o.out, "out", "", "write the result into this Markdown `file`, between its bench-sql markers")
	flag.Parse()
	if flag.NArg() > 0 || min(o.pairs, o.seconds, o.clients) < 1 {
		flag.Usage()
		os.Exit(2)
	}
	return o
}

func run(ctx context.Context, o options) (err error) {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	if o.out != "" {
		if o.only != "" {
			return fmt.Errorf("-out wants the whole table: leave -only away")
		}
		if err := page(o).Check(); err != nil {
			return err
		}
	}
	s, err := startServer(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := s.Stop(); err == nil {
			err = stopErr
		}
	}()
	about, err := s.describe(ctx, o)
	if err != nil {
		return err
	}
	fmt.Print(about)
	fmt.Print(tableHead)
	text := about + tableHead
	for _, c := range chosen {
		r, err := s.measure(ctx, c, o)
		if err != nil {
			return fmt.Errorf("cell %s: %w", c.name, err)
		}
		fmt.Print(r.row())
		text += r.row()
	}
	return page(o).Write(text)
}

// page is where the table goes.
func page(o options) report.Block { return report.Block{Path: o.out, Target: "bench-sql"} }

// choose returns the cells of a list of names; all for none.
func choose(only string) ([]cell, error) {
	if only == "" {
		return cells, nil
	}
	var chosen []cell
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(cells, func(c cell) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no cell %q; there are %s", name, strings.Join(cellNames(), ", "))
		}
		chosen = append(chosen, cells[i])
	}
	return chosen, nil
}

func cellNames() []string {
	var names []string
	for _, c := range cells {
		names = append(names, c.name)
	}
	return names
}
