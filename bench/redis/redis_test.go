package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/testdb"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerOrder) != "" {
		os.Exit(beWorker())
	}
	os.Exit(m.Run())
}

// testRig starts both servers; without redis-server the test is counted as not run.
func testRig(t *testing.T) *rig {
	t.Helper()
	path, err := find()
	if err != nil {
		testdb.NotRun(t, "redis-server is not installed (apt-get install redis-server)")
	}
	t.Setenv("KV_TEST_POSTGRES_BIN", testdb.PostgresBin(t))
	r, err := newRig(t.Context(), path, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A process that dies between the marker and the effect loses the effect or, in the other order, doubles it; in one transaction neither can
// happen. One that dies when both are written, and before it says so, does no harm in any order.
func TestKilled(t *testing.T) {
	r := testRig(t)
	for _, c := range []struct {
		fate  fate
		order int
		want  [2]int // lost, doubled
	}{
		{diesBetween, 0, [2]int{1, 0}},
		{diesBetween, 1, [2]int{0, 1}},
		{diesBetween, 2, [2]int{0, 0}},
		{diesUnspoken, 0, [2]int{0, 0}},
		{diesUnspoken, 1, [2]int{0, 0}},
		{diesUnspoken, 2, [2]int{0, 0}},
	} {
		t.Run(orders[c.order].name+"/"+string(c.fate), func(t *testing.T) {
			if err := r.clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			w, err := r.startWorker(t.Context(), orders[c.order], 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.send("m", c.fate); err != nil {
				t.Fatal(err)
			}
			if key, open := <-w.acks; open {
				t.Errorf("%q was acknowledged", key)
			}
			if killed, err := w.end(); !killed {
				t.Errorf("the worker was not killed: %v", err)
			}
			if err := r.redeliver(t.Context(), orders[c.order], []string{"m"}); err != nil {
				t.Fatal(err)
			}
			lost, doubled, err := r.count(t.Context(), []string{"m"})
			if got := [2]int{lost, doubled}; err != nil || got != c.want {
				t.Errorf("lost and doubled %v, want %v; %v", got, c.want, err)
			}
		})
	}
}

// Random kills: OnceTx loses and doubles nothing, the first order doubles nothing, the second loses nothing. The report has a line for
// each side and order.
func TestReport(t *testing.T) {
	r := testRig(t)
	for i, o := range orders {
		got, err := r.killing(t.Context(), o, 5, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got.kills != 5 || got.messages < 5 || (i != 0 && got.lost > 0) || (i != 1 && got.doubled > 0) {
			t.Errorf("%s: %+v", o.name, got)
		}
	}
	text := ""
	for _, part := range []func() (string, error){
		func() (string, error) { return r.about(t.Context()) },
		func() (string, error) { return r.speeds(t.Context(), 1, 2, 100*time.Millisecond) },
		func() (string, error) { return r.killAll(t.Context(), 1, 2) },
	} {
		some, err := part()
		if err != nil {
			t.Fatal(err)
		}
		text += some
	}
	for _, want := range []string{"redis_version = ", `appendonly = "yes"`, "fsync = on", "| the effect alone", "appendfsync always |",
		"\n| " + orders[2].title + " | "} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

func TestParse(t *testing.T) {
	for _, name := range []string{"ROUNDS", "SECONDS", "CLIENTS", "KILLS"} {
		t.Setenv("KV_BENCH_"+name, "")
	}
	if o, err := parse(nil); err != nil || o != (options{rounds: 5, seconds: 3, clients: 8, kills: 100}) {
		t.Errorf("%+v, %v", o, err)
	}
	t.Setenv("KV_BENCH_KILLS", "7")
	if o, err := parse([]string{"-rounds", "2"}); err != nil || o != (options{rounds: 2, seconds: 3, clients: 8, kills: 7}) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, wrong := range []string{"many", "0"} {
		t.Setenv("KV_BENCH_KILLS", wrong)
		if o, err := parse(nil); err == nil {
			t.Errorf("%s: %+v", wrong, o)
		}
	}
}
