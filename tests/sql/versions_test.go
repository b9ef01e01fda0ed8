package sql

import (
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// No version is issued twice for a key, not in its next life either: a key that was deleted, or that expired and was pruned or
// not, and was made again by whatever op, never has a version that an old holder may still carry.
func TestNoVersionTwice(t *testing.T) {
	t.Parallel()
	const key = `"ns": "n", "key": "k", `
	ways := []string{
		`[{"op": "put", ` + key + `"value": 1, "forever": true}]`,
		`[{"op": "put", ` + key + `"value": 1, "forever": true, "expect": 0}]`,
		`[{"op": "putIfAbsent", ` + key + `"value": 1, "forever": true}]`,
		`[{"op": "incr", ` + key + `"delta": 1, "forever": true}]`,
		`[{"op": "put", ` + key + `"value": 1, "forever": true}, ` + put("beside") + `]`,
	}
	ends := []string{
		"", // over the live row, where the op does that
		`select queen.kv_apply_v1('[{"op": "delete", "ns": "n", "key": "k"}]')`,
		`update queen.kv set expires_at = '2020-01-01Z' where key = 'k'`,
		`delete from queen.kv where key = 'k'`, // the sweeper
	}
	db := testdb.New(t, nil)
	sessions := []queryer{db.Conn(t), db.Conn(t)} // each has versions in store
	issued := map[string]string{}
	for round := range 2 {
		for _, way := range ways {
			for _, end := range ends {
				conn := sessions[round]
				if end != "" {
					db.Exec(t, end)
				}
				var applied bool
				var version string
				scan(t, conn, "select (r -> 0 -> 'applied')::boolean, r -> 0 ->> 'version' from queen.kv_apply_v1($1::jsonb) as r",
					[]any{way}, &applied, &version)
				if before, ok := issued[version]; ok && applied {
					t.Errorf("%s after %q has version %s, which was issued before, by %s", way, end, version, before)
				}
				if applied {
					issued[version] = way
				}
			}
		}
	}
	if len(issued) < 2*len(ways)*(len(ends)-1) {
		t.Errorf("only %d writes have applied", len(issued))
	}
}
