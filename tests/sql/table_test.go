package sql

import (
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// The table's identity, its one other index, and its columns' defaults.
func TestTable(t *testing.T) {
	t.Parallel()
	index := func(name string) string { return "pg_get_indexdef('queen." + name + "'::regclass)" }
	checkAll(t, []check{
		{"select string_agg(indexrelid::regclass::text, ', ' order by 1) from (select indexrelid from pg_index where indrelid = 'queen.kv'::regclass order by indexrelid::regclass::text) as i",
			"queen.idx_kv_shard_expires, queen.kv_pkey"},
		{index("kv_pkey"), "CREATE UNIQUE INDEX kv_pkey ON queen.kv USING btree (tenant_id, namespace, key)"},
		{index("idx_kv_shard_expires"), "CREATE INDEX idx_kv_shard_expires ON queen.kv USING btree (shard, expires_at) WHERE (expires_at IS NOT NULL)"},
		{"select string_agg(attname::text || ' ' || collname, ', ' order by attnum) from pg_attribute join pg_collation as c on c.oid = attcollation where attrelid = 'queen.kv'::regclass",
			"namespace C, key C"},
		{"select format('%s, cache %s', data_type, cache_size) from pg_sequences where schemaname = 'queen' and sequencename = 'kv_version_seq'", "bigint, cache 1000"},
	})
}

// Who writes without the functions is held to the table's rules.
func TestDirectWriters(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for values, want := range map[string]string{
		"'n', 'k', '1', default, null":                                 "",
		"repeat('n', 64), repeat('k', 2048), 'null', 1, '2031-01-01Z'": "",
		"'N', 'k', '1', default, null":                                 "23514",
		"'', 'k', '1', default, null":                                  "23514",
		"'-n', 'k', '1', default, null":                                "23514",
		"E'n\\n', 'k', '1', default, null":                             "23514",
		"repeat('n', 65), 'k', '1', default, null":                     "23514",
		"'n', '', '1', default, null":                                  "23514",
		"'n', repeat('ß', 1024) || 'k', '1', default, null":            "23514",
		"'n', 'k', '1', 0, null":                                       "23514",
		"'n', 'k', '1', -5, null":                                      "23514",
		"'n', 'k', '1', default, 'infinity'":                           "23514",
		"'n', 'k', '1', default, '-infinity'":                          "23514",
		"'n', 'k', '1', default, '10001-01-01Z'":                       "23514",
		"'n', 'k', '1', default, '0001-12-31 23:59:59.999999Z BC'":     "23514",
		"'n', 'k', null, default, null":                                "23502",
		"null, 'k', '1', default, null":                                "23502",
		"'n', null, '1', default, null":                                "23502",
		"'n', 'k', '1', null, null":                                    "23502",
	} {
		got := try(t.Context(), conn, "insert into queen.kv (namespace, key, value, version, expires_at) values ("+values+")")
		if got == "allowed" {
			got = ""
		}
		if got != want {
			t.Errorf("(%s): %q, want %q", values, got, want)
		}
	}
	must(t, call(t.Context(), conn, "["+put("k")+", "+put("ä")+", "+put("\U0010FFFF")+"]"))
	if got := evaluate(t.Context(), conn, "select bool_and(shard = (hashtextextended(key, 0) & 63)) and count(*) = 3 from queen.kv"); got != "true" {
		t.Errorf("the shards are not those of the keys: %s", got)
	}
}
