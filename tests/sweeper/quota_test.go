package sweeper

import (
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// What an operator sets is what an enforcer reads, beside the last measurement.
func TestQuota(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	refresh := func(tenants string) string {
		return value[string](t, conn, `select coalesce(string_agg(concat_ws(' ', left(q.tenant_id::text, 8), q.granted, coalesce(q.max_rows::text, '-'),
			coalesce(q.max_bytes::text, '-'), q.rows, q.bytes > 0, q.sampled, q.computed_at is not null), ', ' order by q.tenant_id), '')
			from queen.kv_quota_refresh_v1(`+tenants+`) as q`)
	}
	set := func(args string, want bool) {
		t.Helper()
		if got := value[bool](t, conn, "select queen.kv_quota_set_v1("+args+")"); got != want {
			t.Errorf("kv_quota_set_v1(%s): %v, want %v", args, got, want)
		}
	}
	t1, t2, t3 := "'"+tenant(1)+"'", "'"+tenant(2)+"'", "'"+tenant(3)+"'"
	set(t1+", 100, null", true)
	set(t2+", 0, 5000", true)
	set(t3+", null, null", false)
	fill(t, conn, tenant(2), 3, 10)
	fill(t, conn, tenant(3), 2, 10)
	measure(t, conn, nil, 10, nil)
	if got, want := refresh(""), "00000001 t 100 - 0 f f f, 00000002 t 0 5000 3 t f t"; got != want {
		t.Errorf("all that have a quota: %s, want %s", got, want)
	}
	if got, want := refresh("array["+t3+","+t3+",null,"+t1+"]::uuid[]"), "00000001 t 100 - 0 f f f, 00000003 f - - 2 t f t"; got != want {
		t.Errorf("named: %s, want %s", got, want)
	}
	if got := refresh("'{}'"); got != "" {
		t.Errorf("none named: %s", got)
	}
	set(t1+", 200, 300", true)
	set(t2+", null, null", false)
	if got, want := refresh(""), "00000001 t 200 300 0 f f f"; got != want {
		t.Errorf("after a change: %s, want %s", got, want)
	}
	for _, args := range []string{"null, 1, 1", t1 + ", -1, 1", t1 + ", 1, -1", t1 + ", 1, 1, 'infinity'"} {
		_, err := conn.Exec(t.Context(), "select queen.kv_quota_set_v1("+args+")")
		if got := sqlState(err); got != "22023 kv_bad_request" {
			t.Errorf("%s: %s, want kv_bad_request", args, got)
		}
	}
}
