package sweeper

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A measured is what kv_usage_step_v1 answers.
type measured struct {
	Tenants, Sampled, Busy int
	Done                   bool
	NextAfter              *string
	Now                    string
}

func measure(t testing.TB, q querier, now *string, maxTenants int, after *string) (m measured) {
	t.Helper()
	text := value[string](t, q, "select queen.kv_usage_step_v1($1::text::timestamptz, $2, $3::text::uuid)::text", now, maxTenants, after)
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	must(t, d.Decode(&m))
	return m
}

// lowLimits makes the schema's limits of a measurement small enough for a quick test.
func lowLimits(t testing.TB, q querier) {
	t.Helper()
	text := value[string](t, q, "select pg_get_functiondef('queen.kv_limit_v1'::regproc)")
	for name, low := range map[string]string{"usage_exact_rows": "1000", "usage_pages": "40", "usage_step_rows": "20000"} {
		text = regexp.MustCompile("('"+name+"'[^0-9]*)[0-9]+").ReplaceAllString(text, "${1}"+low)
	}
	exec(t, q, text)
	if n := value[int](t, q, "select queen.kv_limit_v1('usage_exact_rows')"); n != 1000 {
		t.Fatalf("the limit is %d", n)
	}
}

func tenant(i int) string { return fmt.Sprintf("%08x-0000-0000-0000-000000000000", i) }

// fill gives a tenant rows with values of some bytes.
func fill(t testing.TB, q querier, who string, rows, size int) {
	t.Helper()
	exec(t, q, `insert into queen.kv (tenant_id, namespace, key, value, expires_at)
		select $1::text::uuid, 'n', 'key' || i, to_jsonb(repeat('v', $3)), case when i % 2 = 0 then timestamptz '2020-01-01Z' end
		from generate_series(1, $2) as i`, who, rows, size)
}

// usage is what kv_usage holds of a tenant, and the truth.
func usage(t testing.TB, q querier, who string) (rows, bytes int, sampled bool, trueRows, trueBytes int) {
	t.Helper()
	must(t, q.QueryRow(t.Context(), `select u.rows, u.bytes, u.sampled, (select count(*) from queen.kv where tenant_id = u.tenant_id),
		(select coalesce(sum(pg_column_size(value)), 0) from queen.kv where tenant_id = u.tenant_id)
		from queen.kv_usage as u where u.tenant_id = $1::text::uuid`, who).Scan(&rows, &bytes, &sampled, &trueRows, &trueBytes))
	return rows, bytes, sampled, trueRows, trueBytes
}

// Small tenants are exact beside a huge one, which is an estimate that says so, near the truth and never below what was counted;
// expired rows that still lie there count; steps go through the tenants in order, each whole.
func TestUsage(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	lowLimits(t, conn)
	const small, huge = 300, 150
	for i := 1; i <= small; i++ {
		if i == huge {
			fill(t, conn, tenant(i), 40_000, 20)
		} else {
			fill(t, conn, tenant(i), 1+i%7, 10+i)
		}
	}
	fill(t, conn, tenant(small+1), 1000, 3000) // as many as are counted, and beside the rows: stored compressed
	var after *string
	tenants, steps := 0, 0
	for {
		now := "2030-01-01 12:00:00+00"
		m := measure(t, conn, &now, 40, after)
		tenants += m.Tenants
		steps++
		if m.Now != "2030-01-01T12:00:00.000000Z" || m.Busy != 0 || m.Tenants > 40 || (m.Sampled > 0) != (m.Sampled == 1 && *after < tenant(huge)) {
			t.Errorf("step %d: %+v", steps, m)
		}
		if m.Done != (m.NextAfter == nil) || m.NextAfter != nil && *m.NextAfter != tenant(tenants) {
			t.Errorf("step %d: done %v, nextAfter %v after %d tenants", steps, m.Done, m.NextAfter, tenants)
		}
		if m.Done {
			break
		}
		after = m.NextAfter
	}
	if tenants != small+1 || steps < 8 {
		t.Errorf("%d tenants in %d steps, want %d", tenants, steps, small+1)
	}
	for i := 1; i <= small+1; i++ {
		rows, bytes, sampled, trueRows, trueBytes := usage(t, conn, tenant(i))
		switch {
		case i != huge && (sampled || rows != trueRows || bytes != trueBytes):
			t.Errorf("tenant %d: %d rows, %d bytes, sampled %v; it has %d and %d", i, rows, bytes, sampled, trueRows, trueBytes)
		case i == huge && (!sampled || rows < 1000 || rows < trueRows/2 || rows > trueRows*3/2 || bytes < trueBytes/2 || bytes > trueBytes*3/2):
			// 40 pages of 400: off by a sixth once in three times, by half never
			t.Errorf("the huge tenant: %d rows, %d bytes, sampled %v; it has %d and %d", rows, bytes, sampled, trueRows, trueBytes)
		}
	}
	if n := value[int](t, conn, "select bytes from queen.kv_usage where tenant_id = $1::text::uuid", tenant(small+1)); n > 1000*300 {
		t.Errorf("%d bytes for 1000 values of 3000 bytes that compress well: they were unpacked", n)
	}
}

// A tenant whose rows are all gone goes to zero, and stays measured.
func TestUsageBackToZero(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	exec(t, conn, `insert into queen.kv (tenant_id, namespace, key, value, expires_at)
		select $1::text::uuid, 'n', 'key' || i, '1', timestamptz '2020-01-01Z' from generate_series(1, 100) as i`, tenant(7))
	for range 2 {
		measure(t, conn, nil, 10, nil)
		if rows, _, _, _, _ := usage(t, conn, tenant(7)); rows != 100 {
			t.Fatalf("%d rows, want the 100 that lie there", rows)
		}
	}
	pass(t, conn, 1000)
	for range 2 {
		if m := measure(t, conn, nil, 10, nil); m.Tenants != 1 || !m.Done {
			t.Errorf("%+v, want the tenant who was measured once", m)
		}
		if rows, bytes, sampled, _, _ := usage(t, conn, tenant(7)); rows != 0 || bytes != 0 || sampled {
			t.Errorf("%d rows, %d bytes, sampled %v, want nothing", rows, bytes, sampled)
		}
	}
}

// A measurement that is stamped in the future doesn't freeze the next one.
func TestUsageStampedInTheFuture(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	fill(t, conn, tenant(1), 5, 10)
	future := "2090-01-01 00:00:00+00"
	measure(t, conn, &future, 10, nil)
	fill2 := `insert into queen.kv (tenant_id, namespace, key, value) values ($1::text::uuid, 'n', 'one more', '1')`
	exec(t, conn, fill2, tenant(1))
	measure(t, conn, nil, 10, nil)
	if rows, _, _, _, _ := usage(t, conn, tenant(1)); rows != 6 {
		t.Errorf("%d rows, want the 6 that were measured last", rows)
	}
	if value[bool](t, conn, "select computed_at > clock_timestamp() from queen.kv_usage") {
		t.Error("the stamp is still in the future")
	}
}

// Two sweepers: a tenant that the other one is at is left to him.
func TestUsageOfTwoSweepers(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	one, two := db.Conn(t), db.Conn(t)
	for i := 1; i <= 4; i++ {
		fill(t, one, tenant(i), i, 10)
	}
	measure(t, one, nil, 10, nil)
	exec(t, two, "set lock_timeout = 1")
	exec(t, one, "begin")
	measure(t, one, nil, 2, nil)
	if m := measure(t, two, nil, 10, nil); m.Busy != 2 || m.Tenants != 2 || !m.Done {
		t.Errorf("%+v, want the other two measured", m)
	}
	exec(t, one, "commit")
	if m := measure(t, two, nil, 10, nil); m.Busy != 0 || m.Tenants != 4 {
		t.Errorf("%+v, want all measured", m)
	}
}

func TestUsageArguments(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for _, args := range []string{"null, 0", "null, -1", "null, null", "'infinity', 5", "'9900-01-01Z', 5"} {
		_, err := conn.Exec(t.Context(), "select queen.kv_usage_step_v1("+args+")")
		if got := sqlState(err); got != "22023 kv_bad_request" {
			t.Errorf("%s: %s, want kv_bad_request", args, got)
		}
	}
	if m := measure(t, conn, nil, 5, nil); m.Tenants != 0 || !m.Done || m.NextAfter != nil {
		t.Errorf("%+v of an empty table", m)
	}
	last := "ffffffff-ffff-ffff-ffff-ffffffffffff"
	fill(t, conn, last, 2, 1)
	fill(t, conn, "00000000-0000-0000-0000-000000000000", 2, 1)
	if m := measure(t, conn, nil, 5, nil); m.Tenants != 2 || !m.Done {
		t.Errorf("%+v of the first and the last tenant there can be", m)
	}
	if m := measure(t, conn, nil, 5, &last); m.Tenants != 0 || !m.Done {
		t.Errorf("%+v after the last tenant", m)
	}
}
