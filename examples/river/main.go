// River works jobs of github.com/riverqueue/river with one effect each, however often a job is worked, and makes one job for
// each delivery of a webhook, however often it is delivered.
//
//	river [flags]
//
// It delivers orders several times each, at once, lets River work the jobs, has River work every job a second time, and
// counts. Read worker.go first, then deliver.go; the rest is around them.
//
// The exit status is 0 when every order has one job and one receipt, 1 when not or when the run fails, and 2 for a wrong
// command line.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

type config struct {
	database    string
	schema      string
	orders      int
	deliveries  int
	withoutOnce bool
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
	if err := deliverAndWork(ctx, cfg, stdout); err != nil {
		fmt.Fprintln(stderr, "river:", strings.Join(strings.Fields(err.Error()), " ")) // pgx's errors have several lines
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (cfg config, err error) {
	flags := flag.NewFlagSet("river", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&cfg.database, "database", cmp.Or(os.Getenv("KV_TEST_DATABASE_URL"), os.Getenv("DATABASE_URL")),
		"the database's `URL` (default $KV_TEST_DATABASE_URL, else $DATABASE_URL)")
	flags.Lookup("database").DefValue = "" // it may hold a password
	flags.StringVar(&cfg.schema, "schema", "river_example", "the schema of River's tables and the example's, made when it is not there; another `name` is a fresh start")
	flags.IntVar(&cfg.orders, "orders", 100, "how many")
	flags.IntVar(&cfg.deliveries, "deliveries", 3, "how often each order is delivered")
	flags.BoolVar(&cfg.withoutOnce, "without-once", false, "make a job of every delivery and a receipt of every work, to see the doubles")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	switch {
	case flags.NArg() > 0:
		err = errors.New("no arguments are taken, only flags")
	case cfg.database == "":
		err = errors.New("no database: give -database, or set DATABASE_URL")
	case cfg.orders < 1 || cfg.deliveries < 1:
		err = errors.New("-orders and -deliveries must be at least 1")
	}
	if err != nil {
		fmt.Fprintln(stderr, "river:", err)
		flags.Usage()
	}
	return cfg, err
}
