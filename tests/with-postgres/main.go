// With-postgres finds a PostgreSQL, runs a command with it, and cleans up.
//
//	go run ./with-postgres [flags] -- command [argument ...]
//
// It takes the first of these that there is, and prints which:
//
//  1. the database that KV_TEST_DATABASE_URL names (a role with CREATEDB and CREATEROLE);
//  2. the binaries that -pg-bin or KV_TEST_POSTGRES_BIN names, when one of them is given;
//  3. a container, where a Docker daemon answers and the image can be had;
//  4. PostgreSQL binaries of version 14 or newer on this machine;
//  5. Debian's postgresql, installed by apt-get, where this is root and there is apt-get.
//
// A cluster started from binaries (2, 4, 5) listens on a free loopback port, lives in a
// temporary folder, and runs as an unprivileged user when this is root. Cluster and container
// are removed at the end, also on SIGINT, SIGTERM and SIGHUP, which are passed on to the
// command first; a second signal kills the command.
//
// The command finds in its environment:
//
//	KV_TEST_DATABASE_URL  the connection string of the maintenance database
//	KV_TEST_POSTGRES_BIN  a folder with initdb, pg_ctl and postgres, where there is one
//	KV_TEST_NOT_RUN       a file: one line for each thing that was not run, and why
//
// The last line printed counts what was not run and says why. The exit status is the
// command's (128 and the signal's number when a signal ended it), 125 when there was no
// database or the cleanup failed, 127 when the command could not be started.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/queenkv/queenkv/tests/cluster"
)

const (
	statusNoDatabase = 125
	statusNoCommand  = 127
)

// ended are the signals that end a run early, and in order.
var ended = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

func main() { os.Exit(run()) }

func run() (status int) {
	req, command := parse()

	// Caught from here to the end: no moment in which a signal would leave a server behind.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, ended...)
	ctx, stop := signal.NotifyContext(context.Background(), ended...)
	defer stop()
	db, err := req.acquire(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		say("ended by a signal before there was a database")
		return statusNoDatabase
	case err != nil:
		say("%v", err)
		return statusNoDatabase
	}
	defer func() {
		if err := db.close(); err != nil {
			say("clean up: %v", err)
			status = max(status, statusNoDatabase)
		}
		db.notRun.report()
	}()
	return runCommand(command, db.environ(), signals)
}

// parse reads the command line, and ends the program when it is wrong.
func parse() (request, []string) {
	req := request{settings: map[string]string{}}
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: with-postgres [flags] -- command [argument ...]")
		flag.PrintDefaults()
	}
	flag.StringVar(&req.bin, "pg-bin", os.Getenv("KV_TEST_POSTGRES_BIN"),
		"start a cluster from the binaries in this `folder` (default $KV_TEST_POSTGRES_BIN)")
	flag.BoolVar(&req.durable, "fsync", false, "keep fsync and full_page_writes on, for measurements")
	flag.Func("c", "a server setting, `name=value`, for a cluster or container started here; may be repeated",
		func(s string) error {
			name, value, ok := strings.Cut(s, "=")
			if !ok {
				return fmt.Errorf("%q is not name=value", s)
			}
			req.settings[name] = value
			return nil
		})
	flag.StringVar(&req.image, "image", "postgres:17-alpine", "the container's `image`")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	return req, flag.Args()
}

// say prints a line of ours, apart from what the command prints.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "with-postgres: "+format+"\n", args...)
}

// binariesFor returns where the tests find binaries to start a server of their own; none is
// no failure here, the tests that need them say that they were not run.
func binariesFor(dir string) string {
	if dir != "" {
		return dir
	}
	if b, err := cluster.Find(); err == nil {
		return b.Dir
	}
	return ""
}
