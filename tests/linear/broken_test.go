package linear

import (
	"fmt"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A breakage is a wrong build: one change to the body of one function, or a pruner that prunes otherwise.
type breakage struct {
	name      string
	isolation string
	function  string
	old, new  string
	prune     string
}

var breakages = []breakage{
	{
		name: "verdict from the old snapshot", isolation: "read committed", function: "kv_op_put_v1",
		old: "  end loop;",
		new: `if v_expect > 0 then
				return queen.kv_lost_v1(p_op, p_index, 'version', v_seen.value, v_seen.version, v_seen.expires_at);
			end if;
			end loop;`,
	},
	{
		name: "answer from the old snapshot", isolation: "read committed", function: "kv_op_touch_v1",
		old: "returning kv.value, kv.version, kv.expires_at into v_seen;",
		new: ";",
	},
	{
		name: "expect dropped from the UPDATE", isolation: "read committed", function: "kv_op_put_v1",
		old: "and (v_expect is null or queen.kv_ver_v1(kv.version, kv.expires_at, p_now) = v_expect)",
	},
	{
		name: "INSERT first", isolation: "repeatable read", function: "kv_apply_v1",
		old: "elsif current_setting('transaction_isolation') = 'read committed' then",
		new: "else",
	},
	{
		name: "a sum of another row", isolation: "read committed", function: "kv_apply_v1",
		old: "and kv.version = v_seen.version and kv.expires_at is not distinct from v_seen.expires_at",
	},
	{
		name: "a live counter's expiry moved", isolation: "serializable", function: "kv_apply_v1",
		old: "update queen.kv set value = v_seen.value,",
		new: "update queen.kv set expires_at = queen.kv_expiry_v1(v_now, queen.kv_ttl_ms_v1(v_op)), value = v_seen.value,",
	},
	{
		name: "an expired row is in the way", isolation: "read committed", function: "kv_op_put_v1",
		old: "queen.kv_ver_v1(v_seen.version, v_seen.expires_at, p_now)",
		new: "coalesce(v_seen.version, 0)",
	},
	{
		name: "versions counted", isolation: "repeatable read", function: "kv_apply_v1",
		old: "v_version := nextval('queen.kv_version_seq');",
		new: "v_version := v_seen.version + 1;",
	},
	{
		name: "a renewed row is pruned", isolation: "read committed",
		prune: `with gone as (delete from queen.kv where key in (select key from queen.kv where expires_at <= clock_timestamp()) returning 1)
			select count(*) from gone`,
	},
}

// TestBites: histories of broken builds have no order.
func TestBites(t *testing.T) {
	const most = 40 // rounds; the first does as a rule
	db := testdb.New(t, nil)
	all := newClients(t, db, "read committed")
	for i, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			statement := b.prune
			if statement == "" {
				defer b.install(t, db)()
				statement = pruneSQL
			}
			defer prune(t, db, statement)()
			for _, c := range all {
				if _, err := c.Exec(t.Context(), "set default_transaction_isolation = '"+b.isolation+"'"); err != nil {
					t.Fatal(err)
				}
			}
			for n := range most {
				r, err := play(t.Context(), all, fmt.Sprintf("breakage %d round %d", i, n))
				if err != nil {
					t.Fatal(err)
				}
				f, err := r.check()
				if err != nil {
					t.Fatal(err)
				}
				if f != nil {
					t.Logf("%s: %s", f.key, f.text)
					return
				}
			}
			t.Errorf("%d rounds of %d calls have an order", most, callsARound)
		})
	}
}

// install breaks the function, which must hold old once, until repair is called.
func (b breakage) install(t *testing.T, db *testdb.DB) (repair func()) {
	t.Helper()
	var source string
	err := db.Conn(t).QueryRow(t.Context(), `select pg_get_functiondef(p.oid) from pg_proc as p
		where p.pronamespace = 'queen'::regnamespace and p.proname = $1`, b.function).Scan(&source)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(source, b.old); n != 1 {
		t.Fatalf("%s holds %q %d times: the breakage must follow the function\n%s", b.function, b.old, n, source)
	}
	db.Exec(t, strings.Replace(source, b.old, b.new, 1))
	return func() { db.Exec(t, source) }
}
