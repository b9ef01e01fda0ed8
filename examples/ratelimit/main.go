// Ratelimit is a small HTTP server that lets each client make so many requests a window, however many replicas of it run. Read
// limiter.go; the rest starts and stops a server.
//
//	ratelimit [flags]        DATABASE_URL names a database with queen.kv's schema
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

var rates = kvpg.NewNamespace("rates")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratelimit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("ratelimit", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "where to listen")
	limit := flags.Int64("limit", 5, "requests a client may make a window")
	window := flags.Duration("window", 10*time.Second, "the window's length, from a client's first request in it")
	failOpen := flags.Bool("fail-open", false, "let requests through while the database can't be asked")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp // it has been told
	}

	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := kvpg.CheckSchema(ctx, pool); err != nil {
		return err
	}
	l := &limiter{db: pool, ns: rates, limit: *limit, window: *window, client: remoteIP, failOpen: *failOpen}
	return serve(ctx, *addr, l.wrap(http.HandlerFunc(hello)))
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }

// serve serves until ctx ends, and then lets the requests that are being served finish.
func serve(ctx context.Context, addr string, handler http.Handler) error {
	server := &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	winding, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(winding)
}
