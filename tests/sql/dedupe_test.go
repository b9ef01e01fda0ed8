package sql

import (
	"strconv"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

func dedupe(args, now string) string {
	return `queen.kv_dedupe_v1('n', ` + args + `, p_now => timestamptz '` + at + `' + interval '` + now + `')`
}

func TestDedupe(t *testing.T) {
	t.Parallel()
	const rest = `(select string_agg(concat_ws(' ', kv.key, kv.value, extract(epoch from kv.expires_at - timestamptz '` + at + `')::int), ', '
		order by kv.key) from queen.kv)`
	playSteps(t, map[string][]step{
		"the first of repeats is new": {
			{dedupe("'{b,a,b,B,a,b}', 60000", "0 s"), "{t,t,f,t,f,f}"},
			{dedupe("'{c,b,c,a}', 60000", "1 s"), "{t,f,f,f}"},
			{rest, "B true 60, a true 60, b true 60, c true 61"},
		},
		"seen until its time is over": {
			{dedupe("'{a}', 60000", "0 s"), "{t}"},
			{dedupe("'{a}', 60000", "59.999999 s"), "{f}"},
			{dedupe("'{a}', 60000", "60 s"), "{t}"},
			{rest, "a true 120"},
		},
		"expired and absent keys among live ones": {
			{dedupe("'{a,c,e}', 60000", "0 s"), "{t,t,t}"},
			{dedupe("'{d}', 600000", "0 s"), "{t}"},
			{dedupe("'{b,f}', 600000", "0 s"), "{t,t}"},
			{dedupe("'{f,e,d,c,b,a,z,a,c}', 60000", "60 s"), "{f,t,f,t,f,t,t,f,f}"},
			{rest, "a true 120, b true 600, c true 120, d true 600, e true 120, f true 600, z true 120"},
		},
		"any live value is seen": {
			{`queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "a", "value": null, "forever": true}]') -> 0 -> 'applied'`, "true"},
			{dedupe("'{a,b}', 60000", "0 s"), "{f,t}"},
			{rest, "a null, b true 60"},
		},
		"no keys":           {{dedupe("'{}', 60000", "0 s"), "{}"}},
		"tenants are apart": {{dedupe("'{a}', 60000", "0 s"), "{t}"}, {dedupe("'{a}', 60000, '00000000-0000-0000-0000-000000000002'", "0 s"), "{t}"}},
		"a new lineage": {
			{dedupe("'{a}', 60000", "0 s"), "{t}"},
			{"(select created_at = '" + at + "' and updated_at = '" + at + "' from queen.kv)", "true"},
			{"set_config('kv.version', (select version::text from queen.kv), false) is not null", "true"},
			{dedupe("'{a}', 60000", "90 s"), "{t}"},
			{"(select created_at - '" + at + "' = '90 s' and updated_at - '" + at + "' = '90 s' and version::text <> current_setting('kv.version') from queen.kv)", "true"},
		},
	})
}

func TestDedupeFaults(t *testing.T) {
	t.Parallel()
	var checks []check
	for args, want := range map[string]string{
		"'N', null, 0, null":                            "22023 kv_bad_request", // the tenant
		"'N', null, 0, p_now => 'infinity'":             "22023 kv_bad_request",
		"'N', null, 0":                                  "22023 kv_bad_namespace",
		"'n', null, 0":                                  "22023 kv_bad_request",
		"'n', '{k,NULL}', 0":                            "22023 kv_bad_key",
		"'n', array['k', '', repeat('k', 2049)], 0":     "22023 kv_bad_key",
		"'n', array['k', repeat('k', 2049), ''], 0":     "22001 kv_key_too_large",
		"'n', array_fill('k'::text, '{4097}'), 0":       "22023 kv_bad_ttl",
		"'n', array_fill('k'::text, '{4097}'), null":    "22023 kv_bad_ttl",
		"'n', array_fill('k'::text, '{4097}'), 1":       "22023 kv_too_many_keys",
		"'n', array['k', repeat('é', 1024)], 60000":     "{t,t}",
		"'n', array['{', '\"', E'\\\\', 'NULL'], 60000": "{t,t,t,t}",
	} {
		checks = append(checks, check{"queen.kv_dedupe_v1(" + args + ")", want})
	}
	checkAll(t, checks)
}

// All that a call of 4,096 keys does to the table is one look, by the primary key, and for new keys one INSERT; when all are
// seen, the look alone.
func TestDedupeIsSetBased(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	filled(t, db)
	conn := watch(t, db)
	for _, want := range []struct{ fresh, inserts int }{{4096, 1}, {0, 0}} {
		conn.plans = nil
		got := evaluate(t.Context(), conn, `cardinality(array_positions(queen.kv_dedupe_v1('n',
			array(select 'new:' || i from generate_series(1, 4096) as i), 60000), true))`)
		if got != strconv.Itoa(want.fresh) {
			t.Fatalf("%s keys are new, want %d", got, want.fresh)
		}
		var reads []node
		inserts := 0
		for _, one := range conn.plans {
			onKV, _ := one.Plan.find()
			reads = append(reads, onKV...)
			inserts += strings.Count(one.Text, "insert into queen.kv")
		}
		if inserts != want.inserts || len(reads) != 1 {
			t.Errorf("of %d new keys: %d inserts and the reads %+v, want %d and one", want.fresh, inserts, reads, want.inserts)
		}
		mustUsePrimaryKey(t, reads, "tenant_id = ", "namespace = ", "key = ")
	}
}
