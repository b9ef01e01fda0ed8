// Httpapi is a small payments service over HTTP. A client that doesn't know whether its POST /payments was done sends it again
// with the same Idempotency-Key, and the money moves once.
//
//	httpapi [flags]
//
// Read server.go first, which is the service; auth.go is who asks. The example's tables are made where they are not.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

//go:embed schema.sql
var schemaSQL string

func main() {
	url := flag.String("database", "", "the database's `URL` (default $KV_TEST_DATABASE_URL, else $DATABASE_URL)")
	address := flag.String("listen", "127.0.0.1:8080", "the `address` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, cmp.Or(*url, os.Getenv("KV_TEST_DATABASE_URL"), os.Getenv("DATABASE_URL")), *address)
	stop()
	if err != nil {
		log.Fatal("httpapi: ", err)
	}
}

func run(ctx context.Context, url, address string) error {
	if url == "" {
		return errors.New("no database: give -database, or set DATABASE_URL")
	}
	pool, err := open(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newServer(pool), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}
	context.AfterFunc(ctx, func() { // requests that run are finished, for a while
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(patience); err != nil {
			log.Print("httpapi: ", err)
		}
	})
	log.Printf("httpapi: listening on http://%s", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// setupLock makes processes that start at once make the tables one after the other.
const setupLock = `select pg_advisory_xact_lock(hashtextextended('queen.kv example httpapi', 0))`

// open connects, checks that the queen.kv schema is there, and makes the example's tables.
func open(ctx context.Context, url string) (*pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	err = kvpg.CheckSchema(ctx, pool)
	if err == nil {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			for _, sql := range []string{setupLock, schemaSQL} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return fmt.Errorf("making the example's tables: %w", err)
				}
			}
			return nil
		})
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}
