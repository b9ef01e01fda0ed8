package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/queenkv/queenkv/examples/internal/scratchtest"
)

// The test binary works jobs and kills itself when a test says so: to be killed it has to be a process of its own.
const dieAt = "RIVER_EXAMPLE_DIE_AT"

const (
	beforeCommit = "before commit"
	afterCommit  = "after commit"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(dieAt); at != "" {
		workAndDie(at, os.Getenv("DATABASE_URL"))
	}
	os.Exit(m.Run())
}

// workAndDie works jobs until one of them comes to the moment, and kills the process there.
func workAndDie(at, url string) {
	ctx := context.Background()
	s, err := openShop(ctx, url, schema, false)
	if err != nil {
		panic(err)
	}
	die := func(int) {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {} // the signal is on its way
	}
	if at == beforeCommit {
		s.worker.afterEffect = die
	} else {
		s.worker.afterCommit = die
	}
	if err := s.client.Start(ctx); err != nil {
		panic(err)
	}
	select {}
}

const (
	schema = "river_example"
	doomed = "river example, doomed" // the name of its sessions
)

func newShop(t *testing.T, url string) *shop {
	t.Helper()
	s, err := openShop(t.Context(), url, schema, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pool.Close)
	return s
}

// start starts the client, which is stopped at the end of t.
func start(t *testing.T, s *shop) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := s.client.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.client.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

func mustDeliver(t *testing.T, s *shop) (job int64) {
	t.Helper()
	job, err := s.webhook.deliver(t.Context(), "evt_1", receiptArgs{Order: "o1", Cents: 100})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func untilWorked(t *testing.T, s *shop) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.untilWorked(ctx); err != nil {
		t.Fatal(err)
	}
}

// want compares the number of receipts and of finished markers, and the job's state.
func want(t *testing.T, s *shop, receipts, markers int, state string) {
	t.Helper()
	var haveReceipts, haveMarkers int
	var haveState string
	err := s.pool.QueryRow(t.Context(), `select (select count(*) from receipt),
		(select count(*) from queen.kv where namespace = 'river_example.receipts' and value ->> 'once' = 'done'),
		(select state::text from river_job)`).Scan(&haveReceipts, &haveMarkers, &haveState)
	if err != nil || haveReceipts != receipts || haveMarkers != markers || haveState != state {
		t.Errorf("%d receipts, %d markers, the job is %s, %v; want %d, %d, %s",
			haveReceipts, haveMarkers, haveState, err, receipts, markers, state)
	}
}

// rescue does to the job of a dead worker what River's rescuer does, an hour later by default.
func rescue(t *testing.T, s *shop) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), `update river_job set state = 'available' where state = 'running'`); err != nil {
		t.Fatal(err)
	}
}

// killed runs a worker in a process of its own, which kills itself at the moment.
func killed(t *testing.T, url, at string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dieAt+"="+at, "DATABASE_URL="+url, "PGAPPNAME="+doomed)
	output, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("%v, want a death by SIGKILL\n%s", err, output)
	}
	scratchtest.Until(t, scratchtest.Connect(t, url), `select count(*) = 0 from pg_stat_activity
		where datname = current_database() and application_name = $1`, doomed)
}

func TestEverythingTwice(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"-database", scratchtest.New(t), "-orders", "20"}, &out, &errs); status != 0 {
		t.Fatalf("exit status %d\n%s%s", status, errs.String(), out.String())
	}
	const text = "60 deliveries of 20 orders made 20 jobs\nthe jobs were worked 40 times, 20 of them replays, and wrote 20 receipts\n"
	if out.String() != text {
		t.Errorf("it printed\n%s\nwant\n%s", out.String(), text)
	}
}

// The same without Once is caught.
func TestWithoutOnce(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"-database", scratchtest.New(t), "-orders", "5", "-without-once"}, &out, &errs); status != 1 {
		t.Fatalf("exit status %d, want 1\n%s%s", status, errs.String(), out.String())
	}
	if !strings.Contains(errs.String(), "15 jobs and 30 receipts for 5 orders") {
		t.Errorf("it says %s", errs.String())
	}
}
