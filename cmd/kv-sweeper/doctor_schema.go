package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
)

// schemaVersionCheck: a schema that is missing altogether is an error, which ends the command.
func schemaVersionCheck(ctx context.Context, tx pgx.Tx, _ *doctorCommand) (answer, error) {
	var have int
	if err := tx.QueryRow(ctx, "select queen.kv_schema_version_v1()").Scan(&have); err != nil {
		return answer{}, err
	}
	a := answer{Level: levelOK, Number: have, What: fmt.Sprintf("the schema is of version %d, as this program's", have)}
	if have < queenkv.SchemaVersion {
		a.Level = levelProblem
		a.What = fmt.Sprintf("the schema is of version %d, this program's is %d", have, queenkv.SchemaVersion)
		a.Why = "functions that this program and the driver call are missing"
		a.Do = "kv-sweeper schema install, by the owner of the schema"
	} else if have > queenkv.SchemaVersion {
		a.Level = levelNote
		a.What = fmt.Sprintf("the schema is of version %d, this program's is %d", have, queenkv.SchemaVersion)
		a.Why = "a newer schema keeps every function, so that an older program goes on; what is new it doesn't know"
		a.Do = "upgrade this program"
	}
	return a, nil
}

const missingRightsSQL = `select array_remove(array[
	case when not has_function_privilege('queen.kv_expire_step_v1(smallint[], timestamptz, integer, timestamptz)', 'execute') then 'kv_expire_step_v1' end,
	case when not has_function_privilege('queen.kv_usage_step_v1(timestamptz, integer, uuid)', 'execute') then 'kv_usage_step_v1' end,
	case when not has_table_privilege('queen.kv', 'delete') then 'delete on queen.kv' end], null)::text[]`

func rightsCheck(ctx context.Context, tx pgx.Tx, _ *doctorCommand) (answer, error) {
	var lacks []string
	if err := tx.QueryRow(ctx, missingRightsSQL).Scan(&lacks); err != nil {
		return answer{}, err
	}
	if len(lacks) == 0 {
		return answer{Level: levelOK, Number: 0, What: "the role may delete and measure"}, nil
	}
	return answer{
		Level: levelProblem, Number: len(lacks), What: "the role may not: " + strings.Join(lacks, ", "),
		Why: "every step fails, and expired rows pile up",
		Do:  "run the sweeper and this check as a role that has the level: select queen.kv_grant_v1('role', 'sweeper')",
	}, nil
}

func hiddenRows(ctx context.Context, tx pgx.Tx, _ *doctorCommand) (answer, error) {
	var hidden, enabled bool
	err := tx.QueryRow(ctx, "select queen.kv_rows_hidden_v1(), c.relrowsecurity from pg_class as c where c.oid = 'queen.kv'::regclass").
		Scan(&hidden, &enabled)
	switch {
	case err != nil:
		return answer{}, err
	case hidden:
		return answer{
			Level: levelProblem, Number: 1, What: "row-level security hides rows of queen.kv from this role",
			Why: "a sweeper would not see what it must delete; every step is refused",
			Do:  "select queen.kv_grant_v1('role', 'sweeper'), then run sql/optional/rls.sql again: it makes a policy for it",
		}, nil
	case enabled:
		return answer{Level: levelOK, Number: 0, What: "row-level security is on, and hides nothing from this role"}, nil
	}
	return answer{Level: levelOK, Number: 0, What: "row-level security is off"}, nil
}

func indexCheck(ctx context.Context, tx pgx.Tx, _ *doctorCommand) (answer, error) {
	var there, valid, right bool
	err := tx.QueryRow(ctx, `
		select count(i.indexrelid) > 0, coalesce(bool_or(i.indisvalid and i.indisready), false),
			coalesce(bool_or(pg_get_indexdef(i.indexrelid, 1, true) = 'shard' and pg_get_indexdef(i.indexrelid, 2, true) = 'expires_at'), false)
		from pg_index as i join pg_class as c on c.oid = i.indexrelid
		where i.indrelid = 'queen.kv'::regclass and c.relname = 'idx_kv_shard_expires'`).Scan(&there, &valid, &right)
	if err != nil {
		return answer{}, err
	}
	a := answer{
		Level: levelProblem, Number: 1, Why: "each step of the sweeper reads the whole table, and the oldest rows are not found first",
		Do: "create index concurrently if not exists idx_kv_shard_expires on queen.kv (shard, expires_at) where expires_at is not null",
	}
	switch {
	case !there:
		a.What = "the index idx_kv_shard_expires is missing"
	case !right:
		a.What = "the index idx_kv_shard_expires has other columns than (shard, expires_at)"
		a.Do = "drop index concurrently queen.idx_kv_shard_expires; " + a.Do
	case !valid:
		a.What = "the index idx_kv_shard_expires is not valid: its creation did not end"
		a.Do = "reindex index concurrently queen.idx_kv_shard_expires"
	default:
		return answer{Level: levelOK, Number: 0, What: "the index idx_kv_shard_expires is there, and valid"}, nil
	}
	return a, nil
}
