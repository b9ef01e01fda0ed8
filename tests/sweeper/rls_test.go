package sweeper

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

const (
	tenantA = "aaaaaaaa-0000-0000-0000-000000000000"
	tenantB = "bbbbbbbb-0000-0000-0000-000000000000"
)

// rls runs sql/optional/rls.sql, as its header says.
func rls(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	text, err := os.ReadFile("../../sql/optional/rls.sql")
	must(t, err)
	must(t, owner.PgConn().Exec(t.Context(), "begin; "+string(text)+"; commit").Close())
}

// try executes a statement in a transaction that is rolled back: what it gives as text, or the SQLSTATE and message.
func try(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context())
	var got *string
	if err := tx.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		return sqlState(err)
	}
	if got == nil {
		return "null"
	}
	return *got
}

// A role sees and writes the rows of its tenants through every function and statement, and nothing of others.
func TestRowLevelSecurity(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	owner := db.Conn(t)
	writer, admin, sweeper, later := db.Role(t), db.Role(t), db.Role(t), db.Role(t)
	for role, level := range map[string]string{writer: "writer", admin: "admin", sweeper: "sweeper"} {
		exec(t, owner, "select queen.kv_grant_v1($1::text::regrole, $2)", role, level)
	}
	for _, tenant := range []string{tenantA, tenantB} {
		exec(t, owner, `insert into queen.kv (tenant_id, namespace, key, value, expires_at) select $1::uuid, 'n', 'key' || i, '"secret"'::jsonb, $2::text::timestamptz
			from generate_series(1, 5) as i union all select $1::uuid, 'n', 'live', '"secret"'::jsonb, null`, tenant, noon)
		exec(t, owner, "select queen.kv_quota_set_v1($1, 100, 1000)", tenant)
	}
	rls(t, owner)
	exec(t, owner, "select queen.kv_grant_v1($1::text::regrole, 'writer')", later)
	exec(t, owner, "insert into queen.kv_role_tenant values ($1, $2), ($3, $4)", writer, tenantA, later, tenantB)
	rls(t, owner) // again

	a, b := "'"+tenantA+"'", "'"+tenantB+"'"
	asWriter, asLater, asAdmin, asSweeper := db.ConnAs(t, writer), db.ConnAs(t, later), db.ConnAs(t, admin), db.ConnAs(t, sweeper)
	get := func(tenant string) string {
		return `select queen.kv_apply_v1('[{"op": "get", "ns": "n", "key": "live"}]', ` + tenant + `) -> 0 ->> 'found'`
	}
	put := func(tenant string) string {
		return `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "live", "value": 1, "forever": true}]', ` + tenant + `) -> 0 ->> 'applied'`
	}
	const rowRefused = `42501 new row violates row-level security policy for table "kv"`
	for _, c := range []struct {
		who       *pgx.Conn
		sql, want string
	}{
		{asWriter, get(a), "true"},
		{asWriter, get(b), "false"},
		{asLater, get(b), "true"},
		{asLater, get(a), "false"},
		{asWriter, put(a), "true"},
		{asWriter, put(b), rowRefused},
		{asWriter, `select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "x", "value": 1, "forever": true},
			{"op": "put", "ns": "n", "key": "y", "value": 1, "forever": true}]', ` + b + `)::text`, rowRefused},
		{asWriter, `select queen.kv_apply_v1('[{"op": "putIfAbsent", "ns": "n", "key": "live", "value": 1, "forever": true}]', ` + b + `)::text`, rowRefused},
		{asWriter, `select queen.kv_apply_v1('[{"op": "incr", "ns": "n", "key": "x", "delta": 1, "forever": true}]', ` + b + `)::text`, rowRefused},
		{asWriter, `select queen.kv_apply_v1('[{"op": "delete", "ns": "n", "key": "live"}]', ` + b + `) -> 0 ->> 'reason'`, "absent"},
		{asWriter, `select queen.kv_apply_v1('[{"op": "touch", "ns": "n", "key": "live", "forever": true}]', ` + b + `) -> 0 ->> 'reason'`, "absent"},
		{asWriter, `select jsonb_array_length(queen.kv_apply_v1('[{"op": "getPrefix", "ns": "n", "prefix": "l"}]', ` + b + `) -> 0 -> 'rows')::text`, "0"},
		{asWriter, `select state from queen.kv_once_begin_v1('n', 'live', 1000, p_tenant => ` + b + `)`, rowRefused},
		{asWriter, "select count(*)::text from queen.kv_get_v1('n', 'live', " + b + ")", "0"},
		{asWriter, "select count(*)::text from queen.kv_get_many_v1('n', '{live,key1}', " + b + ", '2020-01-01Z')", "0"},
		{asWriter, "select string_agg(distinct tenant_id::text, ',') from queen.kv", tenantA},
		{asWriter, "with d as (delete from queen.kv returning tenant_id) select string_agg(distinct tenant_id::text, ',') from d", tenantA},
		{asWriter, "with u as (update queen.kv set value = '1' where tenant_id = " + b + " returning 1) select count(*)::text from u", "0"},
		{asWriter, "select string_agg(tenant_id::text, ',') from queen.kv_quota_refresh_v1()", tenantA},
		{asWriter, "select granted::text from queen.kv_quota_refresh_v1(array[" + b + "]::uuid[])", "false"},
		{asWriter, "select string_agg(tenant_id::text, ',') from queen.kv_role_tenant", tenantA},
		{asWriter, "insert into queen.kv_role_tenant values (current_user, " + b + ") returning 'done'", "42501 permission denied for table kv_role_tenant"},
		{asAdmin, get(a), "false"},
		{asAdmin, "select count(*)::text from queen.kv_quota_refresh_v1()", "2"},
		{asAdmin, "select queen.kv_quota_set_v1(" + b + ", 1, 1)::text", "true"},
		{asAdmin, "select queen.kv_expire_step_v1('{1}', null, 10)::text", "42501 kv_rows_hidden"},
		{asAdmin, "select queen.kv_usage_step_v1(null, 10) ->> 'tenants'", "2"},
		{asSweeper, "select count(*)::text from queen.kv", "12"},
		{asSweeper, "select min(value::text) from queen.kv", "42501 permission denied for table kv"},
		{asSweeper, "select queen.kv_expire_step_v1(" + allShards + ", '" + noon + "', 100) ->> 'deleted'", "10"},
		{asSweeper, "select queen.kv_usage_step_v1(null, 10) ->> 'tenants'", "2"},
	} {
		if got := try(t, c.who, c.sql); got != c.want {
			t.Errorf("%s\n  got  %s\n  want %s", c.sql, got, c.want)
		}
	}

	// A prepared statement follows the role that executes it.
	exec(t, owner, "grant "+writer+", "+later+" to current_user")
	exec(t, owner, "prepare mine as select string_agg(distinct tenant_id::text, ',') from queen.kv")
	for _, c := range []struct{ role, want string }{{writer, tenantA}, {later, tenantB}, {writer, tenantA}} {
		exec(t, owner, "set role "+c.role)
		if got := value[string](t, owner, "execute mine", pgx.QueryExecModeSimpleProtocol); got != c.want {
			t.Errorf("as %s the prepared statement reads %s, want %s", c.role, got, c.want)
		}
	}
	exec(t, owner, "reset role")

	// A view of somebody who is bound shows each reader the reader's own rows; one of the owner's shows all of them, as the header says,
	// unless it is a security_invoker's.
	exec(t, owner, "create schema views; grant create, usage on schema views to "+writer+"; grant usage on schema views to "+later)
	const rows = " as select tenant_id from queen.kv"
	exec(t, asWriter, "create view views.of_a_writer"+rows+"; grant select on views.of_a_writer to "+later)
	exec(t, owner, "create view views.of_the_owner"+rows+"; grant select on views.of_the_owner to "+later)
	views := map[string]string{"of_a_writer": tenantB, "of_the_owner": tenantA + "," + tenantB}
	if value[int](t, owner, "select current_setting('server_version_num')::int") >= 150000 {
		exec(t, owner, "create view views.of_the_reader with (security_invoker)"+rows+"; grant select on views.of_the_reader to "+later)
		views["of_the_reader"] = tenantB
	}
	for view, want := range views {
		if got := try(t, asLater, "select string_agg(distinct tenant_id::text, ',') from views."+view); got != want {
			t.Errorf("the view %s shows %s, want %s", view, got, want)
		}
	}

	// What the header says undoes it.
	undo(t, owner)
	if got := try(t, asWriter, get(b)); got != "true" {
		t.Errorf("after it was undone: %s, want true", got)
	}
	if got := try(t, asAdmin, "select queen.kv_expire_step_v1("+allShards+", '"+noon+"', 100) ->> 'deleted'"); got != "10" {
		t.Errorf("after it was undone an admin sweeps %s, want 10", got)
	}
	exec(t, owner, "select queen.kv_regrant_v1()")
	rls(t, owner)
}

func undo(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	text, err := os.ReadFile("../../sql/optional/rls.sql")
	must(t, err)
	_, after, found := strings.Cut(string(text), "-- To undo it")
	if !found {
		t.Fatal("the header doesn't say how to undo it")
	}
	block, _, _ := strings.Cut(after, "\nset local")
	for _, line := range regexp.MustCompile(`(?m)^--   (.*;)$`).FindAllStringSubmatch(block, -1) {
		exec(t, owner, line[1])
	}
	for _, q := range []string{"select count(*) from pg_policy", "select count(*) from pg_class where relrowsecurity and relnamespace = 'queen'::regnamespace"} {
		if n := value[int](t, owner, q); n != 0 {
			t.Errorf("%s: %d after it was undone", q, n)
		}
	}
}

// Without the policy a sweeper would see nothing and say done: it is refused, and says why. A policy that shows it some rows, or
// a restrictive one beside its own, is no better.
func TestSweeperFromWhomRowsAreHidden(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	owner, role, group := db.Conn(t), db.Role(t), db.Role(t)
	insert(t, owner, 1, 5, "timestamptz '2020-01-01Z'")
	rls(t, owner) // before the role is a sweeper
	exec(t, owner, "select queen.kv_grant_v1($1::text::regrole, 'sweeper')", role)
	sweep := "select queen.kv_expire_step_v1(" + allShards + ", null, 100) ->> 'deleted'"
	conn := db.ConnAs(t, role)
	const hidden = "42501 kv_rows_hidden"
	for _, c := range []struct{ change, want string }{
		{"select", hidden},
		{"create policy kv_some on queen.kv to " + role + " using (key <> 'key1')", hidden},
		{"create policy kv_read on queen.kv for select to " + role + " using (true)", hidden},
		{"create policy kv_all on queen.kv to " + role + " using (true)", "5"},
		{"create policy kv_less on queen.kv as restrictive to " + role + " using (key <> 'key1')", hidden},
		{"drop policy kv_less on queen.kv", "5"},
		{"drop policy kv_all on queen.kv; create policy kv_all on queen.kv to " + group + " using (true)", hidden},
		{"grant " + group + " to " + role, "5"},
		{"drop policy kv_all on queen.kv", hidden},
		{"create policy kv_all on queen.kv using (true)", "5"},
		{"alter table queen.kv disable row level security", "5"},
	} {
		must(t, owner.PgConn().Exec(t.Context(), c.change).Close())
		if got := try(t, conn, sweep); got != c.want {
			t.Errorf("after %s: %s, want %s", c.change, got, c.want)
		}
	}
	exec(t, owner, "alter table queen.kv enable row level security; drop policy kv_all on queen.kv")
	rls(t, owner) // now that it is one
	if got := try(t, conn, sweep); got != "5" {
		t.Errorf("after rls.sql was run again: %s, want 5", got)
	}
	if got := try(t, owner, sweep); got != "5" {
		t.Errorf("the owner: %s, want 5", got)
	}
}
