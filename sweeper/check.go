package sweeper

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// schemaVersion is the oldest schema that has every function this package calls.
const schemaVersion = 1

// Check tells whether this sweeper can work: whether the database answers, has the schema, and lets the role delete and
// measure. The error is an [*Error], with a remedy.
func (s *Sweeper) Check(ctx context.Context) error {
	if s.fault != nil {
		return s.fault
	}
	ctx, cancel := s.stepContext(ctx)
	defer cancel()
	return errorOf("check", s.inTx(ctx, func(tx pgx.Tx) error { return check(ctx, tx) }))
}

// rightsSQL names what the role lacks, empty for nothing, and whether rows are hidden from it. A function that is not there
// is 42883: the schema is older than its sweeper.
const rightsSQL = `select concat_ws(', ',
	case when not has_function_privilege('queen.kv_expire_step_v1(smallint[], timestamptz, integer, timestamptz)', 'execute')
		then 'execute on queen.kv_expire_step_v1' end,
	case when not has_function_privilege('queen.kv_usage_step_v1(timestamptz, integer, uuid)', 'execute')
		then 'execute on queen.kv_usage_step_v1' end,
	case when not has_table_privilege('queen.kv', 'delete') then 'delete on queen.kv' end)`

func check(ctx context.Context, tx pgx.Tx) error {
	var standby bool
	if err := tx.QueryRow(ctx, "select pg_is_in_recovery()").Scan(&standby); err != nil {
		return err
	}
	if standby {
		return fault(ReadOnly, "this server is a standby")
	}
	var have int
	if err := tx.QueryRow(ctx, "select queen.kv_schema_version_v1()").Scan(&have); err != nil {
		return err
	}
	if have < schemaVersion {
		return fault(Schema, "the schema is of version "+strconv.Itoa(have)+", and this sweeper needs "+strconv.Itoa(schemaVersion))
	}
	var lacks string
	if err := tx.QueryRow(ctx, rightsSQL).Scan(&lacks); err != nil {
		return err
	}
	if lacks != "" {
		return fault(Rights, "the role lacks "+lacks)
	}
	var hidden bool
	if err := tx.QueryRow(ctx, "select queen.kv_rows_hidden_v1()").Scan(&hidden); err != nil {
		return err
	}
	if hidden {
		return fault(Hidden, "row-level security hides rows of queen.kv from the role")
	}
	return nil
}

func fault(class Class, text string) error {
	return &Error{Doing: "check", Class: class, Remedy: remedies[class], cause: errors.New(text)}
}
