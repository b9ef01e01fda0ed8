package handles

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

// A check is what has to hold over every handle. It works in namespaces of its own, and leaves the handle usable.
type check struct {
	name string
	run  func(t *testing.T, h *handle)
}

// checks are all of them, in the order in which they run on each handle.
var checks = []check{
	{"put_get_delete", putGetDelete},
	{"preconditions", preconditions},
	{"incr", incr},
	{"get_many", getMany},
	{"get_prefix", getPrefix},
	{"apply", apply},
	{"versions", versions},
	{"json_null", jsonNull},
	{"numbers", numbers},
	{"counters", counters},
	{"values", values},
	{"refused_values", refusedValues},
	{"refused_before_sending", refusedBeforeSending},
	{"refused_by_sql", refusedBySQL},
	{"required", required},
	{"retryable", retryable},
	{"cancelled", cancelled},
	{"commit_and_rollback", commitAndRollback},
	{"once", once},
	{"once_refused", onceRefused},
	{"once_failed", onceFailed},
	{"once_options", onceOptions},
	{"run_tx", runTx},
	{"once_tx", onceTx},
	{"limit", limit},
	{"limit_many", limitMany},
	{"lease", lease},
	{"lease_guard", leaseGuard},
	{"dedupe", dedupe},
}

// run runs the list over handles on one database, a handle after the other or some at once.
func run(t *testing.T, at target, makers []maker, parallel bool, list []check) {
	t.Helper()
	proof.Report(t, fmt.Sprintf("%d checks over %d handles", len(list), len(makers)))
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			h := m.open(t, at)
			for _, c := range list {
				t.Run(c.name, func(t *testing.T) { c.run(t, h) })
			}
		})
	}
}

// everyHandle is what the driver takes.
func everyHandle() []maker {
	return slices.Concat(pgxHandles(modes...), stdlibHandles(modes...), pqHandles(false), pqHandles(true))
}

// oddSession is what a session may have set that changes how values are written as text.
var oddSession = map[string]string{
	"TimeZone": "Asia/Kathmandu", "DateStyle": "SQL, DMY", "bytea_output": "escape", "extra_float_digits": "0",
}

func TestHandles(t *testing.T) {
	t.Parallel()
	at := target{url: newDatabase(t).URL()}
	run(t, at, everyHandle(), true, checks)
}

// TestOddSession runs a handle of each driver and mode: how values are written does not depend on more.
func TestOddSession(t *testing.T) {
	t.Parallel()
	at := target{newDatabase(t).URL(), oddSession}
	var makers []maker
	for _, m := range everyHandle() {
		if strings.HasPrefix(m.name, "Conn/") || strings.HasPrefix(m.name, "sql.DB/") {
			makers = append(makers, m)
		}
	}
	if want := len(modes) + len(modes) + 2; len(makers) != want {
		t.Fatalf("%d handles, want %d", len(makers), want)
	}
	run(t, at, makers, true, checks)
}

// TestWithoutSchema runs what has to hold where the schema is missing, or is there and empty.
func TestWithoutSchema(t *testing.T) {
	t.Parallel()
	for state, statement := range map[string]string{"nothing": `select 1`, "empty_schema": `create schema queen`} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			database := testdb.New(t, &testdb.Options{Empty: true})
			database.Exec(t, statement)
			run(t, target{url: database.URL()}, everyHandle(), false, []check{{"missing_schema", missingSchema}})
		})
	}
}
