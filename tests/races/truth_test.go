package races

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

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
