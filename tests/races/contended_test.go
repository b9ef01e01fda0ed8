package races

import (
	"fmt"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A statement that changed nothing is followed by another look at the row, sixteen times in all;
// then the call gives up with 40001 kv_contended. A trigger that swallows the statements stands
// for others that are always faster.
func TestContended(t *testing.T) {
	t.Parallel()
	s := sessions(t, testdb.New(t, nil), 1)[0]
	s.exec(`insert into queen.kv (namespace, key, value, expires_at) values
		('races', 'live', '1', null), ('races', 'expired', '1', clock_timestamp() - interval '1 hour')`)
	s.exec(`create sequence statements`)
	s.exec(`create function swallow() returns trigger language plpgsql as
		$$ begin perform nextval('public.statements'); return null; end $$`)
	s.exec(`create trigger swallow before insert or update or delete on queen.kv for each row execute function swallow()`)

	// A put without a precondition isn't here: one statement that can't lose may do for it.
	expectLive := fmt.Sprintf(`"op": "put", "value": 1, "forever": true, "expect": %d`, s.count("select version from queen.kv where key = 'live'"))
	for op, keys := range map[string][]string{ // where each op has something to write
		expectLive: {"live"},
		`"op": "put", "value": 1, "forever": true, "expect": 0`: {"expired", "absent"},
		`"op": "putIfAbsent", "value": 1, "forever": true`:      {"expired", "absent"},
		`"op": "incr", "delta": 1, "forever": true`:             {"live", "expired", "absent"},
		`"op": "touch", "forever": true`:                        {"live"},
		`"op": "delete"`:                                        {"live", "expired"},
		"Once":                                                  {"expired", "absent"},
	} {
		for _, key := range keys {
			s.exec("alter sequence statements restart")
			var err error
			if op == "Once" {
				_, err = s.once(key, begun{})
			} else {
				_, err = s.apply(fmt.Sprintf(`[{"ns": "races", "key": "%s", %s}]`, key, op))
			}
			if code, message := sqlState(err); code != "40001" || message != "kv_contended" {
				t.Errorf("%s of a key that is %s: %v, want 40001 kv_contended", op, key, err)
			}
			if n := s.count("select last_value from statements"); n != 16 {
				t.Errorf("%s of a key that is %s: %d statements, want 16", op, key, n)
			}
		}
	}
}
