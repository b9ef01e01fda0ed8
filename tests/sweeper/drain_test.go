package sweeper

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

// A drain of 200,000 rows while an old snapshot is open, which keeps every deleted row and its index entry where they are: the last
// full step reads no more than twice as many buffers a deleted row as the first one. Without nextFrom each step would walk over
// all that was deleted before it.
func TestDrainBesideAnOldSnapshot(t *testing.T) {
	t.Parallel()
	const n, batch = 200_000, 10_000
	db := testdb.New(t, nil)
	conn, old := db.Conn(t), db.Conn(t)
	exec(t, conn, "alter table queen.kv set (autovacuum_enabled = off)") // it would only add noise
	insert(t, conn, 1, n, "timestamptz '2030-01-01 10:00:00+00' + i * interval '1 millisecond'")
	insert(t, conn, n+1, n+20_000, "case when i % 2 = 0 then timestamptz '2031-01-01Z' end")
	exec(t, old, "begin isolation level repeatable read; select from queen.kv limit 1")

	first, last, total := 0.0, 0.0, 0
	for from, i := (*string)(nil), 0; ; i++ {
		s, buffers := expireCounted(t, conn, batch, from)
		perRow := float64(buffers) / float64(max(s.Deleted, 1))
		total += s.Deleted
		if i == 0 {
			first = perRow
		}
		if s.Deleted >= batch/2 {
			last = perRow
		}
		if s.NextFrom == nil {
			break
		}
		from = s.NextFrom
	}
	if total != n || rows(t, conn) != 20_000 {
		t.Errorf("%d rows were deleted, and %d are left, want %d and 20000", total, rows(t, conn), n)
	}
	if first == 0 || last > 2*first {
		t.Errorf("the first step read %.2f buffers a deleted row, the last full one %.2f", first, last)
	}
	proof.Report(t, fmt.Sprintf("a drain of %d rows beside an old snapshot: %.2f buffers a row in the first step, %.2f in the last", n, first, last))

	// A step from NULL walks over what was deleted, once: to look, and not again to delete the few rows that it found behind it.
	_, idle := expireCounted(t, conn, batch, nil)
	insert(t, conn, n+20_001, n+20_100, "timestamptz '2030-01-01 11:30:00+00'")
	s, few := expireCounted(t, conn, batch, nil)
	if s.Deleted != 100 || few > idle*5/4 {
		t.Errorf("a step that deletes %d rows, want 100, reads %d buffers, one that finds none %d", s.Deleted, few, idle)
	}

	// Without nextFrom it is not so, or the test shows nothing.
	insert(t, conn, n+20_101, n+20_100+2*batch, "timestamptz '2030-01-01 11:00:00+00' + i * interval '1 millisecond'")
	s, buffers := expireCounted(t, conn, batch, nil)
	if perRow := float64(buffers) / float64(max(s.Deleted, 1)); perRow < 2*first {
		t.Errorf("a step from NULL after that reads %.2f buffers a deleted row, and should walk over what was deleted", perRow)
	}
	exec(t, old, "commit")
}

// The step from the beginning that ends a drain, where no old snapshot is open, skips what the drain has deleted: the steps after a
// step have marked its index entries as dead. Looked up in the table they would cost a buffer each. (On a server of its own: a
// transaction of another database that is older than a step keeps the next one from marking.)
func TestLastStepOfADrain(t *testing.T) {
	t.Parallel()
	const n, batch = 40_000, 2_000
	conn, err := pgx.Connect(t.Context(), testdb.Server(t, nil).URL())
	must(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	exec(t, conn, "alter table queen.kv set (autovacuum_enabled = off)") // vacuum would remove the entries
	insert(t, conn, 1, n, "timestamptz '2030-01-01 10:00:00+00' + i * interval '1 millisecond'")

	total := deleted(pass(t, conn, batch))
	s, buffers := expireCounted(t, conn, batch, nil)
	if total != n || s.Deleted != 0 || !s.Done {
		t.Errorf("%d rows were deleted, want %d, and then %s", total, n, s)
	}
	if buffers > n/10 {
		t.Errorf("the last step of a drain of %d rows reads %d buffers", n, buffers)
	}
	proof.Report(t, fmt.Sprintf("the last step of a drain of %d rows: %d buffers", n, buffers))
}

// expireCounted is a step over all shards at noon, and the blocks of shared buffers that it asked for, as EXPLAIN counts them.
func expireCounted(t *testing.T, q querier, maxRows int, from *string) (s step, buffers int64) {
	t.Helper()
	exec(t, q, "create temp table if not exists answer (step jsonb); truncate answer")
	var plans []struct {
		Plan struct {
			Hit  int64 `json:"Shared Hit Blocks"`
			Read int64 `json:"Shared Read Blocks"`
		}
	}
	sql := "explain (analyze, buffers, timing off, format json) insert into answer select queen.kv_expire_step_v1(" + allShards + ", $1, $2, $3)"
	must(t, json.Unmarshal([]byte(value[string](t, q, sql, pgx.QueryExecModeExec, noon, maxRows, from)), &plans))
	must(t, json.Unmarshal([]byte(value[string](t, q, "select step::text from answer")), &s))
	return s, plans[0].Plan.Hit + plans[0].Plan.Read
}
