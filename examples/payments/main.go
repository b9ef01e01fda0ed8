// Payments books webhook deliveries: each has its effect once, however often it is delivered, by however many workers and
// processes at once, whatever crashes.
//
//	payments [flags] FILE        FILE holds one delivery a line, in JSON; - is standard input
//
// Each delivery is one transaction: kvpg.Once around the effect (a row in the ledger, the customer's balance, and a counter
// in queen.kv). Read book.go first; that is the idea, and the rest feeds it and checks it. The program keeps no set of what
// it has seen, and no constraint makes delivery ids unique.
//
// At the end it reads the file once more, computes what must have come out, and compares. The exit status is 0 when every
// check holds, 1 when one fails or the run does, and 2 for a wrong command line.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

//go:generate go run ./sample -out testdata

type config struct {
	file        string
	database    string
	schema      string
	workers     int
	withoutOnce bool
	killAfter   int // below 0: never
	checkOnly   bool
	json        bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	cfg, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	logger := log.New(stderr, "", 0)
	r, err := bookAndCheck(ctx, cfg, logger)
	if err == nil && cfg.json {
		err = r.writeJSON(stdout)
	} else if err == nil {
		err = r.writeText(stdout)
	}
	if err != nil {
		logger.Printf("payments: %s", oneLine(err))
		return 1
	}
	if n := r.failed(); n > 0 {
		logger.Printf("payments: %d of %d checks failed", n, len(r.Checks))
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (cfg config, err error) {
	flags := flag.NewFlagSet("payments", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: payments [flags] FILE      (- is standard input)")
		flags.PrintDefaults()
	}
	flags.StringVar(&cfg.database, "database", "", "the database's `URL` (default $KV_TEST_DATABASE_URL, else $DATABASE_URL)")
	flags.StringVar(&cfg.schema, "schema", "payments", "the schema of the example's tables, made when it is not there; another `name` is a fresh start")
	flags.IntVar(&cfg.workers, "workers", 8, "deliveries handled at once, 1 to 64; each has a connection")
	flags.BoolVar(&cfg.withoutOnce, "without-once", false, "book every delivery that comes, to see the doubles; the checks then fail")
	flags.IntVar(&cfg.killAfter, "kill-after", -1, "after `N` effects, SIGKILL this process while two workers are between effect and COMMIT")
	flags.BoolVar(&cfg.checkOnly, "check-only", false, "book nothing, only compare the books with the file")
	flags.BoolVar(&cfg.json, "json", false, "print the report as JSON")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	cfg.file = flags.Arg(0)
	switch {
	case flags.NArg() != 1:
		err = errors.New("one FILE is needed")
	case cfg.workers < 1 || cfg.workers > window:
		err = fmt.Errorf("-workers must be from 1 to %d", window)
	case cfg.killAfter >= 0 && cfg.workers < 2:
		err = errors.New("-kill-after needs two workers")
	}
	if err != nil {
		fmt.Fprintln(stderr, "payments:", err)
		flags.Usage()
	}
	return cfg, err
}

func bookAndCheck(ctx context.Context, cfg config, logger *log.Logger) (*report, error) {
	in, err := openInput(cfg.file)
	if err != nil {
		return nil, err
	}
	defer in.close()
	url := cmp.Or(cfg.database, os.Getenv("KV_TEST_DATABASE_URL"), os.Getenv("DATABASE_URL"))
	if url == "" {
		return nil, errors.New("no database: give -database, or set DATABASE_URL")
	}
	b, err := openBook(ctx, url, cfg.schema, cfg.workers)
	if err != nil {
		return nil, err
	}
	defer b.pool.Close()
	b.withoutOnce = cfg.withoutOnce

	var ran *tally
	start, lines := time.Now(), in.first()
	if !cfg.checkOnly {
		if cfg.killAfter >= 0 {
			b.gate = &killGate{after: cfg.killAfter, log: logger}
		}
		t, err := process(ctx, b, lines, cfg.workers, logger)
		if err != nil {
			return nil, fmt.Errorf("%w (%d effects are booked; run it again to go on)", err, t.Effects)
		}
		if b.gate != nil {
			return nil, fmt.Errorf("-kill-after %d: the file ended before two workers were between effect and COMMIT", cfg.killAfter)
		}
		if lines, err = in.again(); err != nil {
			return nil, err
		}
		ran = &t
	}
	took := time.Since(start)
	expected, err := expect(lines)
	if err != nil {
		return nil, err
	}
	have, err := b.readTotals(ctx)
	if err != nil {
		return nil, err
	}
	return newReport(expected, have, ran, took), nil
}

// oneLine joins the lines of an error: pgx tells each address that it tried on a line of its own.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
