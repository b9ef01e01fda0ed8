package catalog_test

import (
	"testing"

	"github.com/queenkv/queenkv/tests/catalog"
	"github.com/queenkv/queenkv/tests/testdb"
)

// Each statement changes one thing that the listing must show.
var changes = []string{
	"alter table queen.kv_quota add column note text",
	"alter table queen.kv_quota alter column max_rows set default 7",
	"alter table queen.kv_quota alter column max_rows set not null",
	"alter table queen.kv_quota alter column max_rows set statistics 500",
	"alter table queen.kv_quota set (fillfactor = 55)",
	"alter table queen.kv_quota enable row level security",
	"alter table queen.kv_quota add constraint odd check (max_rows > 0) not valid",
	"alter table queen.kv_quota replica identity full",
	"create index on queen.kv_quota (max_rows)",
	"alter sequence queen.kv_version_seq cache 7",
	"alter sequence queen.kv_version_seq owned by queen.kv.version",
	"comment on column queen.kv.key is 'another'",
	"comment on function queen.kv_schema_version_v1() is 'another'",
	"create or replace function queen.kv_schema_version_v1() returns int language sql immutable begin atomic select 2; end",
	"alter function queen.kv_schema_version_v1() cost 7",
	"grant select (key) on queen.kv to public",
	"grant select on queen.kv_usage to public",
	"grant execute on function queen.kv_schema_version_v1() to public",
	"grant usage on schema queen to public",
	"alter default privileges in schema queen grant select on tables to public",
	"create policy none on queen.kv using (false)",
	"create type queen.mood as enum ('good')",
	"create view queen.keys as select key from queen.kv",
	"create statistics queen.both on namespace, key from queen.kv",
}

func TestListShowsEveryChange(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ctx := t.Context()
	list := func() string {
		t.Helper()
		text, err := catalog.List(ctx, conn)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := list()
	for _, sql := range changes {
		if _, err := conn.Exec(ctx, "begin; "+sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if list() == before {
			t.Errorf("not shown: %s", sql)
		}
		if _, err := conn.Exec(ctx, "rollback"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(ctx, "create table queen.schema_version (version int not null)"); err != nil {
		t.Fatal(err)
	}
	if list() != before {
		t.Error("tern's version table is shown")
	}
}
