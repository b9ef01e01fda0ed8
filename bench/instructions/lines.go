package main

import (
	"fmt"
	"strings"

	"github.com/queenkv/queenkv/bench/internal/effect"
)

// A line is the same work by hand and with a function, as PL/pgSQL statements without an empty line. What is read is turned into text,
// as it is for a client.
type line struct{ title, byHand, function string }

// setup makes 1,000 rows with values of about 120 bytes, 100 counters, a key that Once has done, and the tables of the lines.
var setup = []string{
	`insert into queen.kv (namespace, key, value, expires_at)
		select 'bench', 'order-' || i, jsonb_build_object('state', 'paid', 'amount', 100 + i,
			'currency', 'EUR', 'customer', 'customer-' || i % 500, 'note', md5(i::text)), clock_timestamp() + interval '1 day'
		from generate_series(1, 1000) as i`,
	`insert into queen.kv (namespace, key, value) select 'count', 'c-' || i, to_jsonb(i) from generate_series(1, 100) as i`,
	`do $$ declare m record; begin
		m := queen.kv_once_begin_v1('once', 'done', 86400000); perform queen.kv_once_end_v1('once', 'done', m.token, 'booked');
	end $$`,
	effect.Tables[0],
	effect.Tables[1],
	`insert into bench.marker values ('done', 'booked', now() + interval '1 day')`,
	// The table with its defaults and indexes and, step by step, without what else it has.
	`create table bench.unchecked (like queen.kv including defaults including generated including indexes)`,
	`create table bench.bare (like queen.kv including defaults, primary key (tenant_id, namespace, key))`,
	`alter table bench.bare alter column shard set default 0`,
	// What a function that takes ops and gives a verdict can't do without: reading its op, one statement, an answer in jsonb.
	`create function bench.put(p_ops jsonb) returns jsonb language plpgsql as $f$
declare
  v_op constant jsonb := p_ops -> 0;
  v_answer jsonb;
begin
  ` + strings.TrimSuffix(insert("queen.kv", "bench", "v_op ->> 'key'", "v_op -> 'value'", overwrite), ";") + `
  returning jsonb_build_array(jsonb_build_object('index', 0, 'op', 'put', 'applied', true, 'key', kv.key, 'value', kv.value,
    'version', kv.version, 'expiresAt', queen.kv_time_v1(kv.expires_at))) into v_answer;
  return v_answer;
end $f$`,
	`create function bench.get(p_ops jsonb) returns jsonb language plpgsql as $f$
declare
  v_op constant jsonb := p_ops -> 0;
begin
  return (select jsonb_build_array(jsonb_build_object('index', 0, 'op', 'get', 'found', true, 'key', kv.key, 'value', kv.value,
    'version', kv.version, 'expiresAt', queen.kv_time_v1(kv.expires_at), 'updatedAt', queen.kv_time_v1(kv.updated_at)))
    ` + where + `and key = v_op ->> 'key' and ` + live + `);
end $f$`,
	`vacuum (freeze, analyze)`,
}

const (
	value  = `{"state": "sent", "amount": 200, "currency": "EUR", "customer": "customer-7", "note": "5f4dcc3b5aa765d61d8327deb882cf99"}`
	onePut = `[{"op": "put", "ns": "bench", "key": "order-5", "ttlMs": 3600000, "value": ` + value + `}]`
	oneGet = `[{"op": "get", "ns": "bench", "key": "order-5"}]`

	live  = `(kv.expires_at is null or kv.expires_at > statement_timestamp())`
	where = `from queen.kv where tenant_id = '00000000-0000-0000-0000-000000000001' and namespace = 'bench' `

	// shown turns a row into text.
	shown = `perform octet_length(value::text), version::text, expires_at::text, updated_at::text `
)

// apply calls kv_apply_v1 with ops that are made before, and takes its answer as text.
func apply(ops string) string {
	return "perform octet_length(queen.kv_apply_v1('" + ops + "')::text);"
}

// insert writes a row as the functions do: time read once, version from the sequence.
func insert(table, namespace, key, value, conflict string) string {
	return `insert into ` + table + ` as kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
values ('00000000-0000-0000-0000-000000000001', '` + namespace + `', ` + key + `, ` + value + `, nextval('queen.kv_version_seq'),
statement_timestamp() + 3600000 * interval '1 ms', statement_timestamp(), statement_timestamp()) ` + conflict + `;`
}

const overwrite = `on conflict (tenant_id, namespace, key) do update set value = excluded.value, version = excluded.version,
expires_at = excluded.expires_at, updated_at = excluded.updated_at,
created_at = case when ` + live + ` then kv.created_at else excluded.created_at end`

const count = `on conflict (tenant_id, namespace, key) do update set value = to_jsonb(kv.value::numeric + 1),
version = excluded.version, updated_at = excluded.updated_at`

// many are 100 keys; batch 256 puts, as ops and as the rows of a statement by hand.
func many(format, separator string) string {
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf(format, "order-"+fmt.Sprint(3+7*i)))
	}
	return strings.Join(keys, separator)
}

func batch(op string) string {
	var rows []string
	for i := range 256 {
		rows = append(rows, fmt.Sprintf(`{%s"ns": "bench", "key": "order-%d", "ttlMs": 3600000, "value": %s}`, op, 1+(71*i)%1000, value))
	}
	return "[" + strings.Join(rows, ", ") + "]"
}

var lines = []line{
	{"put over an existing key", insert("queen.kv", "bench", "'order-5'", "'"+value+"'", overwrite),
		apply(onePut)},
	{"losing putIfAbsent", insert("queen.kv", "bench", "'order-5'", "'"+value+"'", "on conflict do nothing"),
		apply(`[{"op": "putIfAbsent", "ns": "bench", "key": "order-5", "ttlMs": 3600000, "value": ` + value + `}]`)},
	{"incr of an existing key", insert("queen.kv", "count", "'c-5'", "'1'", count),
		apply(`[{"op": "incr", "ns": "count", "key": "c-5", "delta": 1, "ttlMs": 3600000}]`)},
	{"get, typed read", shown + where + `and key = 'order-5' and ` + live + `;`,
		shown + `from queen.kv_get_v1('bench', 'order-5');`},
	{"get, kv_apply_v1", shown + where + `and key = 'order-5' and ` + live + `;`,
		apply(oneGet)},
	{"getMany of 100, typed read",
		shown + where + `and key = any ('{` + many("%s", ",") + `}') and ` + live + `;`,
		shown + `from queen.kv_get_many_v1('bench', '{` + many("%s", ",") + `}');`},
	{"getMany of 100, kv_apply_v1",
		shown + where + `and key = any ('{` + many("%s", ",") + `}') and ` + live + `;`,
		apply(`[{"op": "getMany", "ns": "bench", "keys": [` + many("%q", ",") + `]}]`)},
	{"256 puts over existing keys", `insert into queen.kv as kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
select '00000000-0000-0000-0000-000000000001', r.ns, r.key, r.value, nextval('queen.kv_version_seq'),
statement_timestamp() + r."ttlMs" * interval '1 ms', statement_timestamp(), statement_timestamp()
from jsonb_to_recordset('` + batch("") + `') as r (ns text, key text, value jsonb, "ttlMs" bigint)
order by r.ns collate "C", r.key collate "C" ` + overwrite + `;`, apply(batch(`"op": "put", `))},
	{"Once of a new key, without an effect; by hand the marker table's INSERT and UPDATE",
		`insert into bench.marker values ('k' || n, null, now() + interval '1 hour') on conflict do nothing;
update bench.marker set result = 'booked' where key = 'k' || n;`,
		`declare m record; begin
m := queen.kv_once_begin_v1('once', 'k' || n, 3600000);
perform queen.kv_once_end_v1('once', 'k' || n, m.token, 'booked');
end;`},
	{"Once of a key that is done; by hand the marker's SELECT", `perform result from bench.marker where key = 'done' and expires_at > now();`,
		`perform state, result from queen.kv_once_begin_v1('once', 'done', 3600000);`},
	{"the floor of put: a function of its INSERT alone, without a check", "perform octet_length(bench.put('" + onePut + "')::text);", ""},
	{"the floor of get: a function of its SELECT alone, without a check", "perform octet_length(bench.get('" + oneGet + "')::text);", ""},
	{"the floor of getMany: its rows as jsonb, in order, and that as text", `perform octet_length(to_jsonb(array_agg(r))::text) from (
select kv.key, kv.value, kv.version, queen.kv_time_v1(kv.expires_at) as "expiresAt", queen.kv_time_v1(kv.updated_at) as "updatedAt"
` + where + `and key = any ('{` + many("%s", ",") + `}') and ` + live + ` order by kv.key) as r;`, ""},
	{"the effect alone: an INSERT of one row", `insert into bench.effect (key, cents) values ('k' || n, 1250);`, ""},
	{"an INSERT by hand into queen.kv", insert("queen.kv", "bench", "'k' || n", "'"+value+"'", ""), ""},
	{"the same into a copy without its CHECKs", insert("bench.unchecked", "bench", "'k' || n", "'"+value+"'", ""), ""},
	{"the same without CHECKs, shard and its index", insert("bench.bare", "bench", "'k' || n", "'"+value+"'", ""), ""},
}
