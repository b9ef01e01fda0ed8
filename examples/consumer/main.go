// Consumer reads a log table in order and applies each event once: none is skipped and none doubled, with two replicas at
// once, and whatever is killed at whatever moment.
//
//	consumer append [flags]    append events to the log
//	consumer consume [flags]   apply them until SIGTERM; start as many as you like
//	consumer check [flags]     compare the log, the cursor and the effects
//	consumer trial [flags]     all of it, with replicas that are killed
//
// The reader's cursor is a key in queen.kv that moves in the transaction of the effects: read step.go first; that is the
// idea. log.go says what a log must be like to be read by a cursor.
//
// The exit status is 0, or 1 when a check fails or the run does, and 2 for a wrong command line.
package main

import (
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
)

type config struct {
	command     string
	database    string
	schema      string
	events      int
	batch       int
	drain       bool
	cursorApart bool
	replicas    int
	kills       int
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
	if err := execute(ctx, cfg, stdout, log.New(stderr, "", 0)); err != nil {
		fmt.Fprintln(stderr, "consumer:", strings.Join(strings.Fields(err.Error()), " ")) // pgx's errors have several lines
		return 1
	}
	return 0
}

const usage = "usage: consumer append|consume|check|trial [flags]"

func parse(args []string, stderr io.Writer) (cfg config, err error) {
	flags := flag.NewFlagSet("consumer", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&cfg.database, "database", "", "the database's `URL` (default $KV_TEST_DATABASE_URL, else $DATABASE_URL)")
	flags.StringVar(&cfg.schema, "schema", "consumer", "the schema of the example's tables, made when it is not there; another `name` is a fresh start")
	flags.IntVar(&cfg.events, "events", 1000, "append: how many. trial: the least, two appenders go on while there are kills")
	flags.IntVar(&cfg.batch, "batch", 20, "consume, trial: at most so many events in one transaction")
	flags.BoolVar(&cfg.drain, "drain", false, "consume: end when the log's end is reached")
	flags.BoolVar(&cfg.cursorApart, "cursor-apart", false, "consume, trial: commit the cursor in a transaction of its own, to see the checks fail")
	flags.IntVar(&cfg.replicas, "replicas", 2, "trial: consumers at once")
	flags.IntVar(&cfg.kills, "kills", 20, "trial: SIGKILL so many of them between the effects and COMMIT, and others at other moments")
	if len(args) == 0 {
		args = []string{"-h"} // the command is mandatory
	}
	cfg.command = args[0]
	if strings.HasPrefix(cfg.command, "-") {
		err = flags.Parse(args)
	} else {
		err = flags.Parse(args[1:])
	}
	if err != nil {
		return cfg, err
	}
	_, known := commands[cfg.command]
	switch {
	case !known || flags.NArg() > 0:
		err = errors.New("one command is needed, and then the flags")
	case cfg.events < 0 || cfg.kills < 0:
		err = errors.New("-events and -kills must not be below 0")
	case cfg.batch < 1 || cfg.replicas < 1:
		err = errors.New("-batch and -replicas must be at least 1")
	}
	if err != nil {
		fmt.Fprintln(stderr, "consumer:", err)
		flags.Usage()
	}
	return cfg, err
}
