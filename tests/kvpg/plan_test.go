package kvpg_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestReadsAreInlined explains the driver's own statements on a table with rows: no function is left in the plan, and the whole
// primary key is its index condition, in a generic plan too.
func TestReadsAreInlined(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ctx := t.Context()
	for _, sql := range []string{
		`insert into queen.kv (tenant_id, namespace, key, value) select '00000000-0000-0000-0000-000000000001', 'driver', i, '1'
		from generate_series(1, 10000) as i`,
		`analyze queen.kv`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range map[string]func(kvpg.DB) error{
		"Get":     func(db kvpg.DB) error { _, _, err := kvpg.Get(ctx, db, space, "17"); return err },
		"GetMany": func(db kvpg.DB) error { _, err := kvpg.GetMany(ctx, db, space, []string{"17", "18"}); return err },
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			if _, err := conn.Exec(ctx, `set plan_cache_mode = `+mode); err != nil {
				t.Fatal(err)
			}
			plan := explain(t, conn, name, call)
			if strings.Contains(plan, "Function Scan") || strings.Contains(plan, "kv_get") || !strings.Contains(plan, "using kv_pkey") ||
				!keyCondition.MatchString(plan) {
				t.Errorf("%s, %s:\n%s", name, mode, plan)
			}
			if generic := strings.Contains(plan, "$2"); generic != (mode == "force_generic_plan") {
				t.Errorf("%s, %s is no such plan:\n%s", name, mode, plan)
			}
		}
	}
}

var keyCondition = regexp.MustCompile(`Index Cond: .*tenant_id = .*namespace = .*key = `)

var errExplained = errors.New("explained")

// explaining takes the statement of a call and sends nothing.
type explaining struct {
	sql  string
	args []any
}

func (e *explaining) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	e.sql, e.args = sql, args
	return failing{}
}

type failing struct{}

func (failing) Scan(...any) error { return errExplained }

// explain prepares the call's statement under a name, as pgx does, and gives its plan.
func explain(t *testing.T, conn *pgx.Conn, name string, call func(kvpg.DB) error) string {
	t.Helper()
	var e explaining
	if err := call(&e); !errors.Is(err, errExplained) {
		t.Fatal(err)
	}
	args := make([]string, len(e.args))
	for i, arg := range e.args {
		args[i] = "'" + arg.(string) + "'"
	}
	for _, sql := range []string{`deallocate all`, `prepare ` + name + ` as ` + e.sql} {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	execute := `explain (verbose) execute ` + name + `(` + strings.Join(args, ", ") + `)`
	rows, err := conn.Query(t.Context(), execute, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
