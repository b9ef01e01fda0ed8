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
