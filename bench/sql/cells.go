package main

// A cell is one line of the table: the same work by hand and with a function.
//
// The statements are pgbench script lines; each is one statement on one line. :name is a
// parameter of the prepared statement; its value is the column of that name of the row that fetch
// has taken from bench.call.
type cell struct {
	name  string
	title string
	aim   float64 // the ratio to reach; 0: none was set
	reads bool    // the statements are reads
	loses bool    // they are writes whose precondition is false

	// stored is the SQL expression, of i, for the value that a row holds when a run begins.
	stored string
	// calls is the query that fills bench.call, the arguments to choose from at random, ids from 1.
	calls string
	// fetch overrides fetchCall: sets the variables of the statements from the variable id.
	fetch string

	byHand   []string // several: a caller by hand needs so many round trips
	function string
}

// tableRows is how many rows queen.kv has when a run begins. The calls below choose among them.
const tableRows = 20000

// fetchCall takes the arguments of one call. :calls is how many there are.
const fetchCall = `\set id random(1, :calls)
select * from bench.call where id = :id \gset
`

const (
	// order is a value of about 120 bytes.
	order = `jsonb_build_object('state', 'paid', 'amount', 100 + i, 'currency', 'EUR', 'customer', 'customer-' || i % 500, 'note', md5(i::text))`
	// after is what puts write over it.
	after = `jsonb_build_object('state', 'sent', 'amount', 200 + i, 'currency', 'EUR', 'customer', 'customer-' || i % 500, 'note', md5((-i)::text))`
	// rowKey is the key of row i.
	rowKey = `'order-' || lpad(i::text, 12, '0')`
)

// The same upsert for every cell that writes one row by hand. Time is read once; an expired row
// starts a new lineage, as with the functions. The verdict is what a caller can't know before.
const upsert = `insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at) ` +
	`values ('00000000-0000-0000-0000-000000000001', :ns, :key, :value, nextval('queen.kv_version_seq'), statement_timestamp() + :ttl * interval '1 ms', statement_timestamp(), statement_timestamp()) `

const overwrite = `on conflict (tenant_id, namespace, key) do update set ` +
	`value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, updated_at = excluded.updated_at, ` +
	`created_at = case when kv.expires_at is null or kv.expires_at > excluded.updated_at then kv.created_at else excluded.created_at end `

const live = `(expires_at is null or expires_at > statement_timestamp())`

const (
	applyOps = `select queen.kv_apply_v1(:ops);`

	selectOne = `select key, value, version, expires_at, updated_at from queen.kv ` +
		`where tenant_id = '00000000-0000-0000-0000-000000000001' and namespace = :ns and key = :key and ` + live + `;`
	selectMany = `select key, value, version, expires_at, updated_at from queen.kv ` +
		`where tenant_id = '00000000-0000-0000-0000-000000000001' and namespace = :ns and key = any (:keys) and ` + live + `;`
)

// callOf gives the arguments of ops on one key: what the hand takes apart, and the ops array's text.
func callOf(op, value string) string {
	return `select i as id, 'bench' as ns, key, value::text, 3600000 as ttl,
		jsonb_build_array(jsonb_build_object('op', '` + op + `', 'ns', 'bench', 'key', key, 'value', value, 'ttlMs', 3600000))::text as ops
		from (select i, ` + rowKey + ` as key, ` + value + ` as value from generate_series(1, 5000) as i) as v`
}

// callGet gives the arguments of reads: of one key, and of 100.
const callGet = `select i as id, 'bench' as ns, key,
	jsonb_build_array(jsonb_build_object('op', 'get', 'ns', 'bench', 'key', key))::text as ops
	from (select i, ` + rowKey + ` as key from generate_series(1, 5000) as i) as v`

const callGetMany = `select g as id, 'bench' as ns, array_agg(key order by md5(key || g))::text as keys,
	jsonb_build_array(jsonb_build_object('op', 'getMany', 'ns', 'bench', 'keys', jsonb_agg(key order by md5(key || g))))::text as ops
	from (select g, ` + rowKey + ` as key from generate_series(1, 200) as g, generate_series(g, 20000, 200) as i) as v
	group by g`

// callBatch gives 256 different keys, in no order, with values.
const callBatch = `select g as id,
	jsonb_agg(jsonb_build_object('ns', 'bench', 'key', key, 'value', value, 'ttlMs', 3600000) order by md5(key || g))::text as rows,
	jsonb_agg(jsonb_build_object('op', 'put', 'ns', 'bench', 'key', key, 'value', value, 'ttlMs', 3600000) order by md5(key || g))::text as ops
	from (select g, ` + rowKey + ` as key, ` + after + ` as value
		from generate_series(1, 200) as g, lateral (select 1 + (g * 97 + n * 71) % 20000 as i from generate_series(1, 256) as n) as l) as v
	group by g`

var cells = []cell{
	{
		name: "put", title: "put over an existing key", aim: 0.7,
		stored: order, calls: callOf("put", after),
		byHand:   []string{upsert + overwrite + `returning version, expires_at;`},
		function: applyOps,
	},
	{
		name: "put-new", title: "put of a new key", aim: 0.7,
		stored: order, calls: callOf("put", after),
		fetch: `\set id random(1, :calls)
\set new random(1, 1000000000000000)
select ns, replace(key, 'order', 'new-' || :new) as key, value, ttl, replace(ops, 'order', 'new-' || :new) as ops from bench.call where id = :id \gset
`,
		byHand:   []string{upsert + overwrite + `returning version, expires_at;`},
		function: applyOps,
	},
	{
		name: "get", title: "get, typed read", aim: 0.95, reads: true,
		stored: order, calls: callGet,
		byHand:   []string{selectOne},
		function: `select key, value, version, expires_at, updated_at from queen.kv_get_v1(:ns, :key);`,
	},
	{
		name: "get-apply", title: "get, kv_apply_v1", aim: 0.6, reads: true,
		stored: order, calls: callGet,
		byHand:   []string{selectOne},
		function: applyOps,
	},
	{
		name: "getmany", title: "getMany of 100, typed read", aim: 0.95, reads: true,
		stored: order, calls: callGetMany,
		byHand:   []string{selectMany},
		function: `select key, value, version, expires_at, updated_at from queen.kv_get_many_v1(:ns, :keys);`,
	},
	{
		name: "getmany-apply", title: "getMany of 100, kv_apply_v1", aim: 0.5, reads: true,
		stored: order, calls: callGetMany,
		byHand:   []string{selectMany},
		function: applyOps,
	},
	{
		name: "absent", title: "losing putIfAbsent; by hand the INSERT alone", aim: 0.6, loses: true,
		stored: order, calls: callOf("putIfAbsent", after),
		byHand:   []string{upsert + `on conflict do nothing returning version, expires_at;`},
		function: applyOps,
	},
	{
		name: "absent-read", title: "losing putIfAbsent; by hand the INSERT, then a SELECT of the winner's row", loses: true,
		stored: order, calls: callOf("putIfAbsent", after),
		byHand:   []string{upsert + `on conflict do nothing returning version, expires_at;`, selectOne},
		function: applyOps,
	},
	{
		name: "incr", title: "incr of an existing key", aim: 0.7,
		stored: `to_jsonb(i)`,
		calls: `select i as id, 'bench' as ns, key, 1 as value, 3600000 as ttl,
			jsonb_build_array(jsonb_build_object('op', 'incr', 'ns', 'bench', 'key', key, 'delta', 1, 'ttlMs', 3600000))::text as ops
			from (select i, ` + rowKey + ` as key from generate_series(1, 5000) as i) as v`,
		byHand: []string{upsert + `on conflict (tenant_id, namespace, key) do update set ` +
			`value = case when kv.expires_at is null or kv.expires_at > excluded.updated_at then to_jsonb(kv.value::numeric + excluded.value::numeric) else excluded.value end, ` +
			`expires_at = case when kv.expires_at is null or kv.expires_at > excluded.updated_at then kv.expires_at else excluded.expires_at end, ` +
			`created_at = case when kv.expires_at is null or kv.expires_at > excluded.updated_at then kv.created_at else excluded.created_at end, ` +
			`version = excluded.version, updated_at = excluded.updated_at returning value, version, expires_at;`},
		function: applyOps,
	},
	{
		name: "put-256", title: "256 puts over existing keys in one call", aim: 0.65,
		stored: order, calls: callBatch,
		byHand: []string{`insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at) ` +
			`select '00000000-0000-0000-0000-000000000001', r.ns, r.key, r.value, nextval('queen.kv_version_seq'), ` +
			`statement_timestamp() + r."ttlMs" * interval '1 ms', statement_timestamp(), statement_timestamp() ` +
			`from jsonb_to_recordset(:rows) as r (ns text, key text, value jsonb, "ttlMs" bigint) order by r.ns collate "C", r.key collate "C" ` +
			overwrite + `returning key, version, expires_at;`},
		function: applyOps,
	},
}
