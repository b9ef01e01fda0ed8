package sql

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// what a role may try, and who may do it (any level that is not named gets 42501).
var actions = map[string]struct{ sql, allowed string }{
	"read the schema's version": {"select queen.kv_schema_version_v1()", "reader writer sweeper admin"},
	"get":                       {`select queen.kv_apply_v1('[{"op": "get", "ns": "n", "key": "live"}]')`, "reader writer admin"},
	"getMany, getPrefix": {`select queen.kv_apply_v1('[{"op": "getMany", "ns": "n", "keys": ["live"]}, {"op": "getPrefix", "ns": "n", "prefix": "l"}]')`,
		"reader writer admin"},
	"typed get":      {"select * from queen.kv_get_v1('n', 'live')", "reader writer admin"},
	"typed get many": {"select * from queen.kv_get_many_v1('n', '{live}')", "reader writer admin"},
	"read a value":   {"select value from queen.kv", "reader writer admin"},

	"put":                {`select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "live", "value": 1, "forever": true}]')`, "writer admin"},
	"put of a new key":   {`select queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "new", "value": 1, "forever": true}]')`, "writer admin"},
	"puts":               {"select queen.kv_apply_v1('[" + put("a") + ", " + put("b") + "]')", "writer admin"},
	"putIfAbsent":        {`select queen.kv_apply_v1('[{"op": "putIfAbsent", "ns": "n", "key": "new", "value": 1, "forever": true}]')`, "writer admin"},
	"delete":             {`select queen.kv_apply_v1('[{"op": "delete", "ns": "n", "key": "live"}]')`, "writer admin"},
	"incr":               {`select queen.kv_apply_v1('[{"op": "incr", "ns": "n", "key": "live", "delta": 1, "forever": true}]')`, "writer admin"},
	"touch":              {`select queen.kv_apply_v1('[{"op": "touch", "ns": "n", "key": "live", "ttlMs": 5}]')`, "writer admin"},
	"begin of Once":      {"select queen.kv_once_begin_v1('n', 'once', 1000)", "writer admin"},
	"a replay of Once":   {"select queen.kv_once_begin_v1('n', 'done', 1000)", "writer admin"}, // it writes nothing, and is no reader's
	"begin, end of Once": {"select queen.kv_once_end_v1('n', 'once', (queen.kv_once_begin_v1('n', 'once', 1000)).token, null)", "writer admin"},

	"limiter":      {"select * from queen.kv_limiter_v1('n', '{limited}', null, 5, 1000)", "writer admin"},
	"dedupe":       {"select queen.kv_dedupe_v1('n', '{new}', 1000)", "writer admin"},
	"dedupe, seen": {"select queen.kv_dedupe_v1('n', '{live}', 1000)", "writer admin"}, // it writes nothing, and is no reader's
	"acquire, renew, guard, release a lease": {`select queen.kv_lease_renew_v1('n', 'lease', l.token, 1000), queen.kv_lease_guard_v1('n', 'lease', l.token),
		queen.kv_lease_release_v1('n', 'lease', l.token) from queen.kv_lease_acquire_v1('n', 'lease', 'me', 60000) as l`, "writer admin"},
	"renew a lease":   {"select queen.kv_lease_renew_v1('n', 'lease', 5, 1000)", "writer admin"},
	"release a lease": {"select queen.kv_lease_release_v1('n', 'lease', 5)", "writer admin"},

	"set a quota":         {"insert into queen.kv_quota (tenant_id, max_rows) values (queen.kv_default_tenant_v1(), 5)", "admin"},
	"set a quota by call": {"select queen.kv_quota_set_v1(queen.kv_default_tenant_v1(), 5, null)", "admin"},
	"read quotas":         {"select * from queen.kv_quota", "reader writer sweeper admin"},
	"read the usage":      {"select * from queen.kv_usage", "reader writer sweeper admin"},
	"refresh quotas":      {"select * from queen.kv_quota_refresh_v1()", "reader writer sweeper admin"},
	"write a measurement": {"insert into queen.kv_usage values ('00000000-0000-0000-0000-000000000001', 1, 1, false, '2031-01-01Z')", ""},
	"find what expired":   {"select ctid, tenant_id, namespace, key from queen.kv where shard = 5 and expires_at <= '2031-01-01Z'", "reader writer sweeper admin"},
	"sweep":               {"delete from queen.kv where shard = 5 and expires_at <= '2031-01-01Z'", "writer sweeper admin"},

	"a step of expiry":    {"select queen.kv_expire_step_v1('{1,2}', null, 10)", "sweeper admin"},
	"a step of measuring": {"select queen.kv_usage_step_v1(null, 10)", "sweeper admin"},
	"measure a tenant":    {"select queen.kv_usage_measure_v1(queen.kv_default_tenant_v1())", ""}, // the step runs it as the owner
	"change a shard":      {"update queen.kv set shard = default", "sweeper"},                     // to what it is: the right that a row lock takes

	"change a row's key":    {"update queen.kv set key = 'other'", ""},
	"change a row's tenant": {"update queen.kv set tenant_id = gen_random_uuid()", ""},
	"empty the table":       {"truncate queen.kv", ""},
	"set the sequence":      {"select setval('queen.kv_version_seq', 1)", ""},
	"read who has what":     {"select * from queen.kv_grant", ""},
	"grant":                 {"select queen.kv_grant_v1(current_user::regrole, 'admin')", ""},
	"grant again":           {"select queen.kv_regrant_v1()", ""},
	"make a function":       {"create function queen.mine() returns int language sql as 'select 1'", ""},
}

// Every level may do what it needs and no more; a role without a level may do nothing.
func TestLevels(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	owner := db.Conn(t)
	must(t, call(t.Context(), owner, "["+put("live")+"]"))
	scan(t, owner, "select queen.kv_once_end_v1('n', 'done', (queen.kv_once_begin_v1('n', 'done', 3600000)).token, 'the answer')", nil, new(int64))
	for _, level := range []string{"reader", "writer", "sweeper", "admin", "none", ""} {
		t.Run("level "+level, func(t *testing.T) {
			role := db.Role(t)
			if level != "" {
				grant(t, owner, role, level)
			}
			conn := db.ConnAs(t, role)
			for _, name := range slices.Sorted(maps.Keys(actions)) {
				a := actions[name]
				want := "42501"
				if level != "" && level != "none" && slices.Contains(strings.Fields(a.allowed), level) {
					want = "allowed"
				}
				if got := try(t.Context(), conn, a.sql); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
		})
	}
}

func grant(t *testing.T, owner *pgx.Conn, role, level string) {
	t.Helper()
	_, err := owner.Exec(t.Context(), "select queen.kv_grant_v1($1::text::regrole, $2)", role, level)
	must(t, err)
}

// try executes a statement in a transaction that is rolled back: "allowed", or the SQLSTATE.
func try(ctx context.Context, conn *pgx.Conn, sql string) string {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err.Error()
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, sql); err != nil {
		code, _, _ := strings.Cut(failure(err), " ")
		return code
	}
	return "allowed"
}

// Nothing in the schema is PUBLIC's: not the schema, no table, no sequence, no function.
func TestNothingForPublic(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	var open []string
	scan(t, conn, `select coalesce(array_agg(o.name || ' ' || a.privilege_type), '{}')
		from (select nspname::text as name, coalesce(nspacl, acldefault('n', nspowner)) as acl from pg_namespace where nspname = 'queen'
			union all select relname, coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))
				from pg_class where relnamespace = 'queen'::regnamespace and relkind in ('r', 'S', 'v')
			union all select oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner))
				from pg_proc where pronamespace = 'queen'::regnamespace) as o,
			aclexplode(o.acl) as a
		where a.grantee = 0`, nil, &open)
	if len(open) > 0 {
		t.Errorf("PUBLIC may: %v", open)
	}
}

// A level is remembered, so that what a release adds is granted too; another level takes its
// place, and none takes everything away.
func TestGrantIsRemembered(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	owner := db.Conn(t)
	exec := func(sql string) {
		t.Helper()
		_, err := owner.Exec(t.Context(), sql)
		must(t, err)
	}
	reader, sweeper, gone := db.Role(t), db.Role(t), db.Role(t)
	grant(t, owner, reader, "reader")
	grant(t, owner, sweeper, "sweeper")
	grant(t, owner, gone, "writer")
	grant(t, owner, gone, "none")
	exec("insert into queen.kv_grant values ('a role that was dropped', 'writer')")

	exec("create function queen.kv_new_v1() returns int language sql begin atomic select 1; end")
	exec("revoke all on all routines in schema queen from public") // as the end of an installation does
	asReader, asSweeper := db.ConnAs(t, reader), db.ConnAs(t, sweeper)
	const useNew = "select queen.kv_new_v1()"
	if got := try(t.Context(), asReader, useNew); got != "42501" {
		t.Fatalf("before kv_regrant_v1: %s, want 42501", got)
	}
	exec("alter table queen.kv add column later int")
	exec("revoke select on queen.kv from " + pgx.Identifier{reader}.Sanitize()) // as if only columns had been granted
	exec("select queen.kv_regrant_v1()")
	if got := try(t.Context(), asReader, "select later from queen.kv"); got != "allowed" {
		t.Errorf("a reader's column that came later, after kv_regrant_v1: %s, want allowed", got)
	}
	if got := try(t.Context(), asReader, useNew); got != "allowed" {
		t.Errorf("a reader after kv_regrant_v1: %s, want allowed", got)
	}
	if got := try(t.Context(), asSweeper, useNew); got != "42501" {
		t.Errorf("a sweeper after kv_regrant_v1: %s, want 42501: it needs what it needs", got)
	}
	if got := try(t.Context(), db.ConnAs(t, gone), useNew); got != "42501" {
		t.Errorf("a role whose level was taken away, after kv_regrant_v1: %s, want 42501", got)
	}

	grant(t, owner, reader, "sweeper")
	for name, want := range map[string]string{"sweep": "allowed", "get": "42501", "read a value": "42501"} {
		if got := try(t.Context(), asReader, actions[name].sql); got != want {
			t.Errorf("a reader made a sweeper: %s: %s, want %s", name, got, want)
		}
	}
	grant(t, owner, reader, "none")
	if got := try(t.Context(), asReader, actions["read the schema's version"].sql); got != "42501" {
		t.Errorf("a role with level none: %s, want 42501", got)
	}
}

// What kv_grant_v1 refuses, and a name that needs quoting.
func TestGrantArguments(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	owner := db.Conn(t)
	role := db.Role(t)
	for args, want := range map[string]string{
		"'" + role + "', 'Reader'": "22023 kv_bad_request",
		"'" + role + "', null":     "22023 kv_bad_request",
		"'-', 'reader'":            "22023 kv_bad_request", // PUBLIC
		"null, 'reader'":           "22023 kv_bad_request",
		// The owner of the schema, from whom a level would only take.
		"(select nspowner::regrole from pg_namespace where nspname = 'queen'), 'reader'": "22023 kv_bad_request",
		"(select nspowner::regrole from pg_namespace where nspname = 'queen'), 'none'":   "22023 kv_bad_request",
	} {
		if got := evaluate(t.Context(), owner, "queen.kv_grant_v1("+args+")"); got != want {
			t.Errorf("kv_grant_v1(%s): %s, want %s", args, got, want)
		}
	}
	tx, err := owner.Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context())
	const odd = `Kv "Odd" 'Röle' %I`
	quoted := pgx.Identifier{odd}.Sanitize()
	_, err = tx.Exec(t.Context(), "create role "+quoted)
	must(t, err)
	if got := evaluate(t.Context(), tx, "queen.kv_grant_v1($1::text::regrole, 'writer')", quoted); got != "" {
		t.Fatal(got)
	}
	var may, remembered bool
	scan(t, tx, `select has_table_privilege($1::text::name, 'queen.kv', 'insert'), exists (select from queen.kv_grant where role_name = $1)`, []any{odd}, &may, &remembered)
	if !may || !remembered {
		t.Errorf("may insert: %v, remembered: %v", may, remembered)
	}
}

// Reads work in a READ ONLY transaction, alone and through kv_apply_v1, and so does a write that
// loses on a live row; a write that applies doesn't.
func TestReadOnlyTransaction(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	conn := db.Conn(t)
	must(t, call(t.Context(), conn, "["+put("live")+"]"))
	for sql, want := range map[string]string{
		actions["typed get"].sql:          "allowed",
		actions["typed get many"].sql:     "allowed",
		actions["get"].sql:                "allowed",
		actions["getMany, getPrefix"].sql: "allowed",
		`select queen.kv_apply_v1('[{"op": "putIfAbsent", "ns": "n", "key": "live", "value": 1, "forever": true}]')`: "allowed",
		actions["put"].sql:    "25006",
		actions["incr"].sql:   "25006",
		actions["touch"].sql:  "25006",
		actions["delete"].sql: "25006",
	} {
		if got := try(t.Context(), conn, "set transaction read only; "+sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
