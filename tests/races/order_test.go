package races

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/testdb"
)

// The calls of these tests name the same keys, in whatever order. Both namespaces and keys are
// such that a dictionary, or their order in the call, would sort them otherwise than bytes do.
var orderedKeys = func() (keys [][2]string) {
	for _, ns := range []string{"a.b", "a-b", "ab", "b"} {
		for _, key := range []string{"B", "a", "b", "é", "a b", "a\u200bb"} {
			keys = append(keys, [2]string{ns, key})
		}
	}
	return keys
}()

// callOf is a call with an op for each of keys.
func callOf(keys [][2]string, op func(i int) string) string {
	ops := make([]string, len(keys))
	for i, k := range keys {
		ops[i] = fmt.Sprintf(`{"ns": %q, "key": "%s", %s}`, k[0], k[1], op(i))
	}
	return "[" + strings.Join(ops, ", ") + "]"
}

func shuffled(keys [][2]string) [][2]string {
	keys = slices.Clone(keys)
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

var opsOfEveryKind = []string{
	`"op": "put", "value": 1, "forever": true`,
	`"op": "put", "value": 1, "ttlMs": 60000`,
	`"op": "put", "value": 1, "forever": true, "expect": 0`,
	`"op": "putIfAbsent", "value": 1, "forever": true`,
	`"op": "incr", "delta": 1, "forever": true`,
	`"op": "touch", "ttlMs": 60000`,
	`"op": "delete"`,
	`"op": "delete", "expect": 0`,
	`"op": "get"`,
}

func anyOp(int) string { return opsOfEveryKind[rand.IntN(len(opsOfEveryKind))] }

// plainPut makes a call that can take the set-based path.
func plainPut(i int) string { return fmt.Sprintf(`"op": "put", "value": %d, "forever": true`, i) }

// TestLockOrder: whatever the order of the keys in two calls, they lock them in one order, so that
// calls alone in their transactions never are in a deadlock. Results are in input order.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	opposite := slices.Clone(orderedKeys)
	slices.Reverse(opposite)
	asIs := func(keys [][2]string) func() [][2]string { return func() [][2]string { return keys } }
	random := func() [][2]string { return shuffled(orderedKeys) }
	for name, both := range map[string][2]struct {
		keys func() [][2]string
		op   func(int) string
	}{
		"any ops, opposite":               {{asIs(orderedKeys), anyOp}, {asIs(opposite), anyOp}},
		"any ops, at random":              {{random, anyOp}, {random, anyOp}},
		"put batches, opposite":           {{asIs(orderedKeys), plainPut}, {asIs(opposite), plainPut}},
		"put batches, at random":          {{random, plainPut}, {random, plainPut}},
		"a put batch and any ops":         {{asIs(orderedKeys), plainPut}, {asIs(opposite), anyOp}},
		"any ops and a put batch, random": {{random, anyOp}, {random, plainPut}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sessions(t, testdb.New(t, nil), 2)
			var running sync.WaitGroup
			for i, session := range s {
				running.Go(func() {
					for range 150 {
						keys := both[i].keys()
						results, err := session.apply(callOf(keys, both[i].op))
						if err != nil {
							t.Errorf("session %d: %v", i, err)
							return
						}
						for n, r := range results {
							if r.Index != n || r.Key != keys[n][1] {
								t.Errorf("result %d is of key %q and has index %d, want %q", n, r.Key, r.Index, keys[n][1])
							}
						}
					}
				})
			}
			running.Wait()
		})
	}
}

// TestLockOrderIsByteOrder: a call takes its keys in ascending order of bytes, as another one that
// holds the middle key shows: of the others those before it are locked, those after it aren't.
func TestLockOrderIsByteOrder(t *testing.T) {
	t.Parallel()
	sorted := slices.Clone(orderedKeys)
	slices.SortFunc(sorted, func(a, b [2]string) int {
		if a[0] != b[0] {
			return strings.Compare(a[0], b[0])
		}
		return strings.Compare(a[1], b[1])
	})
	for name, op := range map[string]func(int) string{
		"put batch": plainPut,
		"incr":      func(int) string { return `"op": "incr", "delta": 1, "forever": true` },
		"touch":     func(int) string { return `"op": "touch", "ttlMs": 60000` },
		"delete":    func(int) string { return `"op": "delete"` },
	} {
		for _, middle := range []int{0, len(sorted) / 2, len(sorted) - 1} {
			t.Run(fmt.Sprint(name, " ", middle), func(t *testing.T) {
				t.Parallel()
				// A database whose own collation would sort them otherwise, where the server has such.
				s := sessions(t, testdb.New(t, &testdb.Options{ICU: true}), 3)
				a, b, watch := s[0], s[1], s[2]
				a.mustApply(callOf(sorted, plainPut))
				a.begin(readCommitted)
				a.mustApply(callOf(sorted[middle:middle+1], plainPut))
				done := make(chan struct{})
				var err error
				go func() { defer close(done); _, err = b.apply(callOf(shuffled(sorted), op)) }()
				waits, errWatch := blockedBy(t.Context(), watch.Conn, b.PgConn().PID(), a.PgConn().PID(), done)
				if errWatch != nil || !waits {
					t.Fatalf("waits: %v, %v; %v", waits, errWatch, err)
				}
				for i, k := range sorted {
					free := watch.count(`select count(*) from (select from queen.kv
						where namespace = $1 and key = $2 for update skip locked) as free`, k[0], k[1]) == 1
					if want := i > middle; free != want {
						t.Errorf("%q is free: %v, want %v", k, free, want)
					}
				}
				a.commit()
				if <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestDeadlockOfTwoCalls is what the documentation warns of: no order holds between two calls of
// one transaction. One of the two gets 40P01, and it alone.
func TestDeadlockOfTwoCalls(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 3)
	watch := s[2]
	key := func(i int) string {
		return fmt.Sprintf(`[{"op": "put", "ns": "races", "key": "%d", "value": 1, "forever": true}]`, i)
	}
	for i := range 2 {
		s[i].begin(readCommitted)
		s[i].mustApply(key(i))
	}
	done := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	var errs [2]error
	second := func(i int) {
		defer close(done[i])
		_, errs[i] = s[i].apply(key(1 - i))
		if errs[i] != nil { // or the other one waits on
			_, err := s[i].Exec(t.Context(), "rollback")
			errs[i] = errors.Join(errs[i], err)
		}
	}
	go second(0)
	waits, err := blockedBy(t.Context(), watch.Conn, s[0].PgConn().PID(), s[1].PgConn().PID(), done[0])
	if err != nil || !waits {
		t.Fatalf("the first waits: %v, %v", waits, err)
	}
	go second(1)
	codes := map[string]int{}
	for i := range 2 {
		select {
		case <-done[i]:
		case <-time.After(waitLimit):
			t.Fatal("the deadlock stands")
		}
		code, _ := sqlState(errs[i])
		codes[code]++
	}
	if codes["40P01"] != 1 || codes[""] != 1 || errors.Join(errs[:]...) == nil {
		t.Errorf("%v, want 40P01 for one and no error for the other", errs)
	}
}
