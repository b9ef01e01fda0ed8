package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/examples/internal/scratch"
)

// The test binary is the program when a test says so: to be killed it has to be a process of its own.
const beTheProgram = "PAYMENTS_BE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beTheProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// newDatabase gives the URL of a database of the test's own.
func newDatabase(t *testing.T, create func(context.Context, string) (*scratch.Database, error)) string {
	t.Helper()
	maintenance := os.Getenv("KV_TEST_DATABASE_URL")
	if maintenance == "" {
		t.Fatal("no database: run make test, or set KV_TEST_DATABASE_URL (a role with CREATEDB)")
	}
	db, err := create(t.Context(), maintenance)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Drop(); err != nil {
			t.Error(err)
		}
	})
	return db.URL
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// head gives a file with the first n lines of the sample, and its lines.
func head(t *testing.T, n int) (name string, lines []string) {
	t.Helper()
	text, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.SplitAfterN(string(text), "\n", n+1)[:n]
	name = filepath.Join(t.TempDir(), "head.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return name, lines
}

// payments runs the program in this process, so that the race detector sees it.
func payments(t *testing.T, wantStatus int, args ...string) (r *report, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status := run(t.Context(), append([]string{"-json"}, args...), &out, &err)
	if status != wantStatus {
		t.Fatalf("exit status %d, want %d\n%s%s", status, wantStatus, err.String(), out.String())
	}
	if out.Len() > 0 {
		r = &report{}
		if err := json.Unmarshal(out.Bytes(), r); err != nil {
			t.Fatal(err)
		}
	}
	return r, err.String()
}

func TestTheSample(t *testing.T) {
	t.Parallel()
	url, truth := newDatabase(t, scratch.New), readTruth(t)
	r, stderr := payments(t, 0, "-database", url, sampleFile)
	if have, want := r.Run.Effects, truth.Distinct; have != want {
		t.Errorf("%d effects, want %d", have, want)
	}
	if have, want := r.Run.Replays, truth.Duplicates; have != want {
		t.Errorf("%d replays, want %d", have, want)
	}
	if r.Run.InFlight == 0 {
		t.Error("no replay was in flight together with its effect")
	}
	if have, want := strings.Count(stderr, "refused"), truth.Rivals; have != want || r.Run.Refusals != want {
		t.Errorf("%d reported and %d counted refusals, want %d", have, r.Run.Refusals, want)
	}
	if have, want := strings.Count(stderr, "malformed"), truth.Malformed; have != want || r.Run.Malformed != want {
		t.Errorf("%d reported and %d counted malformed lines, want %d", have, r.Run.Malformed, want)
	}
	conn := connect(t, url)
	for customer, want := range truth.Accounts {
		var have account
		err := conn.QueryRow(t.Context(), `select cents, (select value::bigint from queen.kv
			where namespace = 'payments.counters' and key = 'customer/' || $1) from payments.balance where customer = $1`,
			customer).Scan(&have.Cents, &have.Effects)
		if err != nil || have != want {
			t.Errorf("%s: %v %v, want %v", customer, have, err, want)
		}
	}

	again, _ := payments(t, 0, "-database", url, sampleFile)
	if again.Run.Effects != 0 || again.Run.Replays != truth.Distinct+truth.Duplicates || again.Run.Refusals != truth.Rivals {
		t.Errorf("the second time: %+v", *again.Run)
	}
}

var killedLines = regexp.MustCompile(`killing this process: (\d+) effects .* lines (\d+) and (\d+) `)

func TestKilledAndRunAgain(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, scratch.New)
	file, lines := head(t, 700)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-database", url, "-kill-after", "100", file)
	cmd.Env = append(os.Environ(), beTheProgram+"=1")
	output, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("%v, want a death by SIGKILL\n%s", err, output)
	}
	said := killedLines.FindStringSubmatch(string(output))
	if said == nil {
		t.Fatalf("no word about the kill:\n%s", output)
	}
	conn := connect(t, url)
	waitFor(t, conn, `select count(*) = 0 from pg_stat_activity where datname = current_database() and application_name = 'payments'`)

	ids := make([]string, 2) // of the deliveries that were between effect and COMMIT
	for i, text := range said[2:] {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		d, err := parseDelivery([]byte(lines[n-1]))
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = d.id
	}
	var booked, marked int
	err = conn.QueryRow(t.Context(), `select (select count(*) from payments.ledger where delivery_id = any($1)),
		(select count(*) from queen.kv where namespace = 'payments.deliveries' and key = any($1))`, ids).Scan(&booked, &marked)
	if err != nil || booked != 0 || marked != 0 {
		t.Errorf("of %v, which were not committed, %d are booked and %d marked: %v", ids, booked, marked, err)
	}

	partly, _ := payments(t, 1, "-database", url, "-check-only", file)
	for _, c := range partly.Checks {
		if c.OK != (c.Group == ofBooks) {
			t.Errorf("between the runs: %+v", c)
		}
	}
	rest, _ := payments(t, 0, "-database", url, file)
	if have, want := rest.Run.Effects, partly.File.Distinct-int(partly.Books.Effects); have != want {
		t.Errorf("the second run had %d effects, want the remaining %d", have, want)
	}
}

func waitFor(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for holds := false; !holds; <-poll.C {
		if err := conn.QueryRow(ctx, sql).Scan(&holds); err != nil {
			t.Fatalf("waiting for %s: %v", sql, err)
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, scratch.New)
	file, _ := head(t, 700)
	var reports [2]*report
	var wait sync.WaitGroup
	for i := range reports {
		wait.Go(func() {
			var out, err bytes.Buffer
			if status := run(t.Context(), []string{"-json", "-database", url, file}, &out, &err); status != 0 {
				t.Errorf("exit status %d\n%s%s", status, err.String(), out.String())
			}
			reports[i] = &report{}
			if err := json.Unmarshal(out.Bytes(), reports[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	if have, want := reports[0].Run.Effects+reports[1].Run.Effects, reports[0].File.Distinct; have != want {
		t.Errorf("%d effects in both, want %d", have, want)
	}
}

func TestWithoutOnce(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, scratch.New)
	file, _ := head(t, 300)
	r, stderr := payments(t, 1, "-database", url, "--without-once", file)
	doubles := r.File.Duplicates + r.File.Rivals
	if doubles == 0 || r.Books.Doubles != int64(doubles) || int(r.Books.Effects) != r.File.Distinct+doubles {
		t.Errorf("%+v; want %d doubles", *r.Books, doubles)
	}
	if !strings.Contains(stderr, "checks failed") {
		t.Errorf("it doesn't say that checks failed: %s", stderr)
	}
}

// Above READ COMMITTED a transaction that waited is lost, and its retry replays or books.
func TestRetries(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, scratch.New)
	file, _ := head(t, 300)
	_, err := connect(t, url).Exec(t.Context(), `do $$ begin execute format(
		'alter database %I set default_transaction_isolation to "repeatable read"', current_database()); end $$`)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := payments(t, 0, "-database", url, file)
	if r.Run.Retries == 0 {
		t.Error("no transaction was run again")
	}
}

func TestFromStandardInput(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, scratch.New)
	_, lines := head(t, 100)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-database", url, "-")
	cmd.Env = append(os.Environ(), beTheProgram+"=1")
	cmd.Stdin = strings.NewReader(strings.Join(lines, ""))
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "file    100 lines") {
		t.Errorf("%v\n%s", err, output)
	}
}
