package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A STRICT function answers NULL for a NULL argument whatever its body says: none is.
func TestNoFunctionIsStrict(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	var strict []string
	var all int
	scan(t, conn, `select coalesce(array_agg(proname::text) filter (where proisstrict), '{}'), count(*) from pg_proc
		where pronamespace = 'queen'::regnamespace`, nil, &strict, &all)
	if len(strict) > 0 || all < 30 {
		t.Errorf("%d functions, and these are STRICT: %v", all, strict)
	}
}

// Every function can be called by hand, and NULL for every argument is met with an answer or
// with one of our own codes. Not here: the steps of kv_apply_v1, which take ops that were
// checked, and kv_refuse_v1, which raises what it is given.
func TestNullForEverything(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	rows, err := conn.Query(t.Context(), `select proname::text, array(select format_type(a, -1) from unnest(proargtypes) as a)
		from pg_proc where pronamespace = 'queen'::regnamespace and prokind = 'f'
		and proname !~ '^kv_(op_(put|delete|incr|touch|get)|run_op|put_batch|apply_batch|restamp|refuse)' order by proname`)
	must(t, err)
	type function struct {
		Name string
		Args []string
	}
	functions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[function])
	must(t, err)
	for _, f := range functions {
		t.Run(f.Name, func(t *testing.T) {
			args := make([]string, len(f.Args))
			for i, typ := range f.Args {
				args[i] = "null::" + typ
			}
			tx, err := conn.Begin(t.Context())
			must(t, err)
			defer tx.Rollback(t.Context())
			got := evaluate(t.Context(), tx, fmt.Sprintf("select count(*) from (select queen.%s(%s)) as q", f.Name, strings.Join(args, ", ")))
			if _, message, raised := strings.Cut(got, " "); raised && !strings.HasPrefix(message, "kv_") {
				t.Errorf("with NULLs it answers %s", got)
			}
		})
	}
}
