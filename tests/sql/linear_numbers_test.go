package sql

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// Checking the numbers of a value takes processor time in proportion to their number: 16 times as many, up to the most that fit into
// a value, take 16 times as long (measured: 17). As a set, jsonb_path_query adds to that what grows with their square (measured: 42).
// The time is the backend's own on the processor, which PostgreSQL tells of a statement in microseconds, so that a busy machine does not
// count; what disturbs the processor itself is kept out by the least of many rounds.
func TestManyNumbersAreLinear(t *testing.T) {
	t.Parallel()
	const fewNumbers, manyNumbers, most = 1365, 16 * 1365, 26
	cpu := cpuOfStatements(t, testdb.New(t, nil))
	few, many := time.Hour, time.Hour
	for round := 0; round < 5 || round < 25 && many > most*few; round++ {
		few, many = min(few, cpu(numbersAreGood, fewNumbers)), min(many, cpu(numbersAreGood, manyNumbers))
	}
	t.Logf("%d numbers take %v of the processor, %d take %v", fewNumbers, few, manyNumbers, many)
	if few <= 0 {
		t.Fatal("the processor time was not measured")
	}
	if many > most*few {
		t.Errorf("%d numbers take %v of the processor, and %d take %v, more than %d times as much", manyNumbers, many, fewNumbers, few, most)
	}
}

const numbersAreGood = "select queen.kv_value_fault_v1((select jsonb_agg(1) from generate_series(1, $1::int))) is null"

// cpuOfStatements gives a function that runs a check, which must say true, and tells the processor time of its execution.
func cpuOfStatements(t *testing.T, db *testdb.DB) func(sql string, arg any) time.Duration {
	var told []time.Duration
	conn := db.Conn(t, func(cfg *pgx.ConnConfig) {
		cfg.RuntimeParams["client_min_messages"] = "log"
		cfg.RuntimeParams["log_executor_stats"] = "on"
		cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			if took, ok := cpuTold(n.Detail); ok {
				told = append(told, took)
			}
		}
	})
	return func(sql string, arg any) (cpu time.Duration) {
		t.Helper()
		told = nil
		var good bool
		if err := conn.QueryRow(context.WithoutCancel(t.Context()), sql, arg).Scan(&good); err != nil || !good {
			t.Fatalf("%v, %v", good, err)
		}
		if len(told) == 0 {
			t.Fatal("the server told nothing of what the statement took (log_executor_stats)")
		}
		for _, took := range told { // preparing it, the first time, is one of its own
			cpu += took
		}
		return cpu
	}
}

var cpuLine = regexp.MustCompile(`(\d+)\.(\d{6}) s user, (\d+)\.(\d{6}) s system, `)

// cpuTold reads "0.000061 s user, 0.000007 s system" out of the detail of a message about executor statistics.
func cpuTold(detail string) (time.Duration, bool) {
	m := cpuLine.FindStringSubmatch(detail)
	if m == nil {
		return 0, false
	}
	took, err := time.ParseDuration(fmt.Sprintf("%s.%ss", m[1], m[2]))
	system, errSystem := time.ParseDuration(fmt.Sprintf("%s.%ss", m[3], m[4]))
	return took + system, err == nil && errSystem == nil
}
