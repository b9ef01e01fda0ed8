package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/examples/internal/scratchtest"
)

// The test binary is the program in the processes that a trial starts: to be killed they have to be processes.
const beTheProgram = "CONSUMER_BE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beTheProgram) != "" {
		main()
	}
	if err := os.Setenv(beTheProgram, "1"); err != nil { // for the children
		panic(err)
	}
	os.Exit(m.Run())
}

// consumerRun runs the program in this process and gives what it printed.
func consumerRun(t *testing.T, wantStatus int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if status := run(t.Context(), args, &out, &err); status != wantStatus {
		t.Fatalf("consumer %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), status, wantStatus, err.String(), out.String())
	}
	return out.String(), err.String()
}

// tables gives a pool on the tables of the test's own, and a consumer of them.
func tables(t *testing.T) (*pgxpool.Pool, *consumer) {
	t.Helper()
	cfg := config{database: scratchtest.New(t), schema: "consumer"}
	pool, err := open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, &consumer{pool: pool, cursors: cursors(cfg.schema), batch: 20}
}

// begin begins a transaction that is rolled back at the end of t, when it is not committed before.
func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.WithoutCancel(t.Context())) })
	return tx
}

// mustAppend appends events of 1 cent each in tx and gives the position of the last.
func mustAppend(t *testing.T, tx pgx.Tx, n int) int64 {
	t.Helper()
	events := make([]event, n)
	for i := range events {
		events[i] = event{account: "a", cents: 1}
	}
	last, err := appendEvents(t.Context(), tx, events)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// appendBehind appends one event in tx, which has to wait for another appender, and sends the position it comes to.
func appendBehind(t *testing.T, pool *pgxpool.Pool, tx pgx.Tx) <-chan int64 {
	t.Helper()
	position := make(chan int64, 1)
	go func() {
		last, err := appendEvents(t.Context(), tx, []event{{account: "a", cents: 1}})
		if err != nil {
			t.Error(err)
		}
		position <- last
	}()
	scratchtest.UntilBlocked(t, scratchtest.Connect(t, pool.Config().ConnString()))
	return position
}

func mustCommit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// mustReport reads a report, in which every check must hold.
func mustReport(t *testing.T, pool *pgxpool.Pool) *report {
	t.Helper()
	r, err := readReport(t.Context(), pool, "consumer")
	if err != nil {
		t.Fatal(err)
	}
	if r.failed() != 0 {
		t.Errorf("checks failed: %+v", *r)
	}
	return r
}
