package sql

import (
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A row that changes hands whenever it is to be written: after 16 rounds the op gives up. The
// trigger, which undoes every write, stands for the others. A put without expect decides nothing,
// and so has nothing to try again.
func TestContended(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for _, sql := range []string{
		"select queen.kv_apply_v1('[" + put("live") + "]')",
		"create sequence rounds",
		`create function undo() returns trigger language plpgsql as 'begin perform nextval(''public.rounds''); return null; end'`,
		"create trigger undo before insert or update or delete on queen.kv for each row execute function undo()",
	} {
		_, err := conn.Exec(t.Context(), sql)
		must(t, err)
	}
	for _, c := range []string{
		`kv_apply_v1(jsonb_build_array('` + put("live") + `'::jsonb || jsonb_build_object('expect', (select version from queen.kv))))`,
		`kv_apply_v1(jsonb_build_array('` + put("absent") + `'::jsonb || '{"expect": 0}'))`,
		`kv_apply_v1('[{"op": "putIfAbsent", "ns": "n", "key": "absent", "value": 1, "forever": true}]')`,
		`kv_apply_v1('[{"op": "delete", "ns": "n", "key": "live"}]')`,
		`kv_apply_v1('[{"op": "incr", "ns": "n", "key": "live", "delta": 1, "forever": true}]')`,
		`kv_apply_v1('[{"op": "incr", "ns": "n", "key": "absent", "delta": 1, "forever": true}]')`,
		`kv_apply_v1('[{"op": "touch", "ns": "n", "key": "live", "forever": true}]')`,
		`kv_once_begin_v1('n', 'absent', 1000)`,
		`kv_limiter_v1('n', '{absent}', null, 5, 1000)`,
		`kv_lease_acquire_v1('n', 'absent', 'me', 1000)`,
		`kv_lease_renew_v1('n', 'live', (select version from queen.kv), 1000)`,
		`kv_lease_release_v1('n', 'live', (select version from queen.kv))`,
		`kv_dedupe_v1('n', '{absent}', 1000)`,
	} {
		t.Run(c, func(t *testing.T) {
			var before, after int
			scan(t, conn, "select nextval('rounds')", nil, &before)
			var answer *string
			r, fault := refusedWith(conn.QueryRow(t.Context(), "select queen."+c+"::text").Scan(&answer))
			if fault != "" {
				t.Fatal(fault)
			}
			if isOp := strings.HasPrefix(c, "kv_apply") || strings.HasPrefix(c, "kv_limiter"); r.code != "kv_contended" || isOp != (r.index != nil && *r.index == 0) {
				t.Errorf("%s %s, want kv_contended, and the index of an op", r.code, r.detail)
			}
			scan(t, conn, "select nextval('rounds')", nil, &after)
			if rounds := after - before - 1; rounds != 16 {
				t.Errorf("gave up after %d rounds, want 16", rounds)
			}
		})
	}
}
