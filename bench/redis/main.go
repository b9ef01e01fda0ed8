// Redis measures the usual marker in Redis beside an effect in PostgreSQL: how fast it is, and how many effects are lost or doubled when
// the process is killed between the two. kvpg.OnceTx, which commits both together, is put through the same.
//
//	go run ./redis [flags]		(in bench/; make bench-redis does it)
//
// It starts a throwaway cluster, with fsync, from the PostgreSQL binaries that KV_TEST_POSTGRES_BIN names or that are on this machine,
// and a redis-server of its own, both on Unix sockets. Where redis-server is not installed, and this is root on a Debian, apt-get installs
// it; where it is not to be had the report says "not run", and why.
//
//   - orders.go: the ways to handle a message.
//   - speed.go: messages a second of each, from some clients at once, in turn, by the clock.
//   - kill.go, worker.go: a process handles messages and is killed by SIGKILL again and again at random moments; what it didn't
//     acknowledge is delivered anew to the next. Then the effects of each message are counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/queenkv/queenkv/bench/internal/program"
	"github.com/queenkv/queenkv/bench/internal/report"
)

// options are the command line, whose defaults the environment may set.
type options struct {
	rounds, seconds, clients, kills int
	out                             string
}

func main() {
	if os.Getenv(workerOrder) != "" {
		os.Exit(beWorker())
	}
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-redis:", err)
		os.Exit(2)
	}
	program.Main("bench-redis", func(ctx context.Context) error { return run(ctx, o) })
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench-redis", flag.ContinueOnError)
	for _, v := range []struct {
		into        *int
		name, usage string
		usual       int
	}{
		{&o.rounds, "rounds", "runs of each side", 5},
		{&o.seconds, "seconds", "seconds of each run", 3},
		{&o.clients, "clients", "messages at once", 8},
		{&o.kills, "kills", "processes to kill for each order", 100},
	} {
		variable := "KV_BENCH_" + strings.ToUpper(v.name)
		usual := v.usual
		if text := os.Getenv(variable); text != "" {
			if usual, err = strconv.Atoi(text); err != nil {
				return o, fmt.Errorf("%s=%s: want a number above 0", variable, text)
			}
		}
		flags.IntVar(v.into, v.name, usual, v.usage+", from `"+variable+"`")
	}
	flags.StringVar(&o.out, "out", "", "write the result into this Markdown `file`, between its bench-redis markers")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || min(o.rounds, o.seconds, o.clients, o.kills) < 1 {
		return o, fmt.Errorf("%q: want no arguments, and numbers above 0", args)
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	page := report.Block{Path: o.out, Target: "bench-redis"}
	if err := page.Check(); err != nil {
		return err
	}
	text := fmt.Sprintf("- %s, `go run ./redis -rounds %d -seconds %d -clients %d -kills %d` in bench/\n- %s\n",
		time.Now().UTC().Format(time.DateOnly), o.rounds, o.seconds, o.clients, o.kills, report.Machine())
	if path, err := findOrInstall(ctx); err != nil {
		text += fmt.Sprintf("\nnot run: %v\n", err)
	} else {
		figures, err := measure(ctx, path, o)
		if err != nil {
			return err
		}
		text += figures
	}
	fmt.Print(text)
	return page.Write(text)
}

func measure(ctx context.Context, redisPath string, o options) (text string, err error) {
	r, err := newRig(ctx, redisPath, o.clients)
	if err != nil {
		return "", err
	}
	defer func() {
		if stopErr := r.stop(); err == nil {
			err = stopErr
		}
	}()
	about, err := r.about(ctx)
	if err != nil {
		return "", err
	}
	speeds, err := r.speeds(ctx, o.rounds, o.clients, time.Duration(o.seconds)*time.Second)
	if err != nil {
		return "", err
	}
	kills, err := r.killAll(ctx, o.kills, o.clients)
	return about + speeds + kills, err
}
