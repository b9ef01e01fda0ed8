package fuzz

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

const workers = 4

// TestFuzz plays random calls; see the package's text. It fails, besides on a wrong answer, when it has not tried enough: fewer
// than 30% of the calls were answered, or a code of the contract came too seldom.
func TestFuzz(t *testing.T) {
	t.Parallel()
	inputs, seed := proof.Size(t, "KV_PROOF_FUZZ_INPUTS", 20_000), uint64(proof.Size(t, "KV_PROOF_FUZZ_SEED", 1))
	db := testdb.New(t, nil)
	rig(t, db)

	var mu sync.Mutex
	var wait sync.WaitGroup
	all, highest, local := tally{}, 0, true
	for n := range workers {
		w := newWorker(t, db, n)
		wait.Go(func() {
			for i := n; i < inputs && !t.Failed(); i += workers {
				c := newCall(newSource(seed, uint64(i)), w.tenant)
				if err := w.play(t.Context(), c); err != nil {
					t.Errorf("input %d of seed %d: %v\n%s", i, seed, err, shown(t, c))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(w.tally)
			highest, local = max(highest, w.memory.peak), local && w.memory.status != nil
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}

	valid := 100 * all[answered] / inputs
	proof.Report(t, fmt.Sprintf("%d calls of seed %d, %d%% of them answered, memory of a backend at most %d MiB; %s", inputs, seed, valid, highest/1024, all))
	if valid < 30 {
		t.Errorf("%d%% of the calls were answered, want 30%%", valid)
	}
	for code := range sqlStates {
		if want := min(100, inputs/400); all[code] < want {
			t.Errorf("%s came %d times, want %d", code, all[code], want)
		}
	}
	if all.total() != inputs {
		t.Errorf("%d calls were counted, %d made", all.total(), inputs)
	}
	t.Run("memory", func(t *testing.T) {
		if !local {
			testdb.NotRun(t, "the server's processes are not on this machine")
		}
	})
}

// rig takes away every write in the namespace contended.
func rig(t testing.TB, db *testdb.DB) {
	t.Helper()
	db.Exec(t, "create function undo() returns trigger language plpgsql as 'begin return null; end'")
	for _, event := range []string{"insert", "update"} {
		db.Exec(t, fmt.Sprintf("create trigger undo_%[1]s before %[1]s on queen.kv for each row when (new.namespace = '%[2]s') execute function undo()", event, contended))
	}
}

func newWorker(t testing.TB, db *testdb.DB, n int) *worker {
	t.Helper()
	conn := db.Conn(t)
	w := &worker{conn: conn, tenant: fmt.Sprintf("00000000-0000-0000-0000-0000000000%02x", 16+n), memory: memoryOf(t, conn, db.Name), tally: tally{}}
	if _, err := w.conn.Exec(t.Context(), "select nextval('queen.kv_version_seq')"); err != nil { // else there is no currval
		t.Fatal(err)
	}
	var err error
	if w.before, err = w.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// shown is a call for psql; a long one is put in a file.
func shown(t testing.TB, c call) string {
	sql := c.psql()
	if len(sql) < 10_000 {
		return sql
	}
	f, err := os.CreateTemp("", "kv-fuzz-*.sql")
	if err != nil {
		t.Error(err)
		return sql
	}
	defer f.Close()
	if _, err := f.WriteString(sql + "\n"); err != nil {
		t.Error(err)
	}
	return "psql -f " + f.Name()
}

// String is the counts, codes in alphabetical order.
func (t tally) String() string {
	var b strings.Builder
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", name, t[name])
	}
	return b.String()
}
