package races

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

const many = 8

// each runs do in every session at once, and waits for all.
func each(t *testing.T, s []*session, do func(i int, s *session) error) {
	t.Helper()
	var running sync.WaitGroup
	for i, session := range s {
		running.Go(func() {
			if err := do(i, session); err != nil {
				t.Errorf("session %d: %v", i, err)
			}
		})
	}
	running.Wait()
}

// Eight sessions increment one key: no increment is lost, and none answers what another answered.
func TestIncrIsExact(t *testing.T) {
	t.Parallel()
	const rounds = 200
	s := sessions(t, testdb.New(t, nil), many)
	answers := make([][]string, many)
	each(t, s, func(i int, s *session) error {
		for range rounds {
			r, err := s.apply(`[{"op": "incr", "ns": "races", "key": "n", "delta": 1, "forever": true}]`)
			if err != nil {
				return err
			}
			if !r[0].Applied {
				return fmt.Errorf("an incr without bounds lost: %+v", r[0])
			}
			answers[i] = append(answers[i], string(r[0].Value))
		}
		return nil
	})
	seen := map[string]bool{}
	for _, answer := range slices.Concat(answers...) {
		if seen[answer] {
			t.Errorf("%s was answered twice", answer)
		}
		seen[answer] = true
	}
	for n := 1; n <= many*rounds; n++ {
		if !seen[strconv.Itoa(n)] {
			t.Errorf("nobody was answered %d", n)
		}
	}
	if sum := s[0].count("select value::bigint from queen.kv where key = 'n'"); sum != many*rounds {
		t.Errorf("the sum is %d, want %d", sum, many*rounds)
	}
}

// An incr without bounds never loses, whatever runs beside it: deletes, puts of numbers, expiry.
func TestIncrWithoutBoundsNeverLoses(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 4)
	others := []string{
		`{"op": "delete", "ns": "races", "key": "n"}`,
		`{"op": "put", "ns": "races", "key": "n", "value": 10, "ttlMs": 1}`,
		`{"op": "put", "ns": "races", "key": "n", "value": 20, "forever": true}`,
		`{"op": "touch", "ns": "races", "key": "n", "ttlMs": 1}`,
	}
	each(t, s, func(i int, s *session) error {
		for range 300 {
			op := `{"op": "incr", "ns": "races", "key": "n", "delta": 1, "ttlMs": 1}`
			if i%2 == 1 {
				op = others[rand.IntN(len(others))]
			}
			r, err := s.apply("[" + op + "]")
			if err != nil {
				return err
			}
			if i%2 == 0 && !r[0].Applied {
				return fmt.Errorf("it lost: %+v", r[0])
			}
		}
		return nil
	})
}

// Of many more attempts exactly max apply, and every loser is shown the row that was full.
func TestIncrMaxIsExact(t *testing.T) {
	t.Parallel()
	const most, rounds = 100, 40
	s := sessions(t, testdb.New(t, nil), many)
	applied := make([]int, many)
	each(t, s, func(i int, s *session) error {
		for range rounds {
			r, err := s.apply(fmt.Sprintf(`[{"op": "incr", "ns": "races", "key": "n", "delta": 1, "max": %d, "forever": true}]`, most))
			if err != nil {
				return err
			}
			if r[0].Applied {
				applied[i]++
			} else if r[0].Reason != "limit" || string(r[0].Value) != strconv.Itoa(most) {
				return fmt.Errorf("it lost with %+v, want limit and the value %d", r[0], most)
			}
		}
		return nil
	})
	sum := 0
	for _, n := range applied {
		sum += n
	}
	if stored := s[0].count("select value::bigint from queen.kv where key = 'n'"); sum != most || stored != most {
		t.Errorf("%d applied and %d is stored, want %d", sum, stored, most)
	}
}

// Of eight putIfAbsent on a key one wins, also where the winner of the moment rolls back; every
// loser is shown the winner's value and version.
func TestPutIfAbsentHasOneWinner(t *testing.T) {
	t.Parallel()
	const keys = 60
	s := sessions(t, testdb.New(t, nil), many)
	type won struct {
		version string
		session int
	}
	var mu sync.Mutex
	winners := map[int][]won{}
	shown := map[int]map[won]bool{}
	each(t, s, func(i int, s *session) error {
		for key := range keys {
			if _, err := s.Exec(t.Context(), "begin"); err != nil {
				return err
			}
			r, err := s.apply(fmt.Sprintf(`[{"op": "putIfAbsent", "ns": "races", "key": "k%d", "value": %d, "forever": true}]`, key, i))
			if err != nil {
				return err
			}
			end := "commit"
			value, err := strconv.Atoi(string(r[0].Value))
			if err != nil {
				return err
			}
			w := won{r[0].Version.String(), value}
			mu.Lock()
			switch {
			case !r[0].Applied:
				if shown[key] == nil {
					shown[key] = map[won]bool{}
				}
				shown[key][w] = true
			case i%2 == 0 && i < many-2: // the even ones but for the last roll back
				end = "rollback"
			default:
				winners[key] = append(winners[key], w)
			}
			mu.Unlock()
			if _, err := s.Exec(t.Context(), end); err != nil {
				return err
			}
		}
		return nil
	})
	for key := range keys {
		if len(winners[key]) != 1 {
			t.Errorf("key %d has the winners %v", key, winners[key])
			continue
		}
		for w := range shown[key] {
			if w != winners[key][0] {
				t.Errorf("key %d: a loser was shown %v, want %v", key, w, winners[key][0])
			}
		}
	}
}

// Batches and single ops at the same keys: what a key holds at the end is what one verdict said,
// and no version was given twice.
func TestEveryVersionIsOneVerdicts(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 6)
	keys := orderedKeys[:12]
	var mu sync.Mutex
	said := map[string]string{} // version: key and value
	each(t, s, func(i int, s *session) error {
		for n := range 60 {
			value := func(k int) string {
				return fmt.Sprintf(`"op": "put", "value": "%d/%d/%d", "forever": true`, i, n, k)
			}
			written := shuffled(keys)
			if i%2 == 1 {
				written = written[:1]
			}
			results, err := s.apply(callOf(written, value))
			if err != nil {
				return err
			}
			mu.Lock()
			for _, r := range results {
				if before, ok := said[r.Version.String()]; ok {
					t.Errorf("version %s was given twice: %s, %s %s", r.Version, before, r.Key, r.Value)
				}
				said[r.Version.String()] = r.Key + " " + string(r.Value)
			}
			mu.Unlock()
		}
		return nil
	})
	rows, err := s[0].Query(t.Context(), "select version::text, key || ' ' || value::text from queen.kv")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var version, row string
		if err := rows.Scan(&version, &row); err != nil {
			t.Fatal(err)
		}
		if said[version] != row {
			t.Errorf("version %s holds %s, and the verdict was %s", version, row, said[version])
		}
	}
	if err := rows.Err(); err != nil || n != len(keys) {
		t.Errorf("%d keys, %v, want %d", n, err, len(keys))
	}
}

// getMany's rows and missing come from one statement: a key that comes and goes is in one of them.
func TestGetManyIsOneStatement(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 2)
	counts := map[string]int{}
	stop := make(chan struct{})
	each(t, s, func(i int, s *session) error {
		if i == 1 {
			defer close(stop)
		}
		for n := 0; ; n++ {
			if i == 0 {
				select {
				case <-stop:
					return nil
				default:
				}
				op := `{"op": "delete", "ns": "races", "key": "k"}`
				if n%2 == 0 {
					op = `{"op": "put", "ns": "races", "key": "k", "value": 1, "forever": true}`
				}
				if _, err := s.apply("[" + op + "]"); err != nil {
					return err
				}
				continue
			}
			if n == 500 {
				return nil
			}
			var rows, missing int
			err := s.QueryRow(t.Context(), `select jsonb_array_length(r -> 0 -> 'rows'), jsonb_array_length(r -> 0 -> 'missing')
				from queen.kv_apply_v1('[{"op": "getMany", "ns": "races", "keys": ["k"]}]') as r`).Scan(&rows, &missing)
			if err != nil {
				return err
			}
			if rows+missing != 1 {
				return fmt.Errorf("the key is in rows %d times and in missing %d times", rows, missing)
			}
			counts[[]string{"missing", "rows"}[rows]]++
		}
	})
	t.Logf("of %d: %v", 500, counts)
}
