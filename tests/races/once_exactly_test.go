package races

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// Eight sessions want every key's effect, in any isolation, waiting or Busy; some roll back between
// the effect and the commit, some after end. They go on until each has run it or got a replay.
// Then each key has one effect, and everybody was told that one.
func TestOnceRunsOnce(t *testing.T) {
	t.Parallel()
	const keys = 40
	s := sessions(t, testdb.New(t, nil), many)
	s[0].exec("create table effect (key text, token bigint)") // nothing unique stands in for Once
	told := make([]map[string]string, many)
	each(t, s, func(i int, s *session) error {
		told[i] = map[string]string{}
		for n := range keys {
			key := fmt.Sprint("key", n)
			for told[i][key] == "" {
				result, err := s.tryEffect(key)
				if code, _ := sqlState(err); err != nil && code != "40001" && code != "40P01" {
					return err
				}
				told[i][key] = result
				rollback(s.Conn)
			}
		}
		return nil
	})
	for n := range keys {
		key := fmt.Sprint("key", n)
		var effects int
		var token string
		err := s[0].QueryRow(t.Context(), "select count(*), min(token)::text from effect where key = $1", key).Scan(&effects, &token)
		if err != nil || effects != 1 {
			t.Errorf("%s has %d effects, %v", key, effects, err)
		}
		for i := range told {
			if told[i][key] != token {
				t.Errorf("%s: session %d was told %s, and the effect is %s", key, i, told[i][key], token)
			}
		}
	}
}

// tryEffect is one attempt; an empty result says that there must be another one.
func (s *session) tryEffect(key string) (result string, err error) {
	isolation := []string{readCommitted, repeatableRead, serializable}[rand.IntN(3)]
	if _, err := s.Exec(s.t.Context(), "begin isolation level "+isolation); err != nil {
		return "", err
	}
	a, err := s.once(key, begun{busy: rand.IntN(3) == 0})
	switch {
	case err != nil || a.state == "busy":
		return "", err
	case a.state == "replay":
		return a.result, nil
	case a.state != "run":
		return "", fmt.Errorf("Once of %s: %v", key, a)
	}
	result = fmt.Sprint(a.token)
	if _, err := s.Exec(s.t.Context(), "insert into effect values ($1, $2)", key, a.token); err != nil || rand.IntN(4) == 0 {
		return "", err
	}
	if err := s.end(key, a.token, result, false); err != nil || rand.IntN(4) == 0 {
		return "", err
	}
	_, err = s.Exec(s.t.Context(), "commit")
	if err != nil {
		return "", err
	}
	return result, nil
}
