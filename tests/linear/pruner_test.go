package linear

import (
	"context"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/testdb"
)

// pruneSQL is a step of the sweeper over all shards; it answers how many rows it has deleted.
const pruneSQL = `select (queen.kv_expire_step_v1(array(select generate_series(0, 63)::smallint), null, 100) ->> 'deleted')::bigint`

// prune executes the statement all the time, until stop is called, which tells how many rows it has removed: what
// the statement answers.
func prune(t *testing.T, db *testdb.DB, sql string) (stop func() int64) {
	t.Helper()
	conn := newClient(t, db, "read committed")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var rows int64
	go func() {
		defer close(done)
		pause := time.NewTicker(time.Millisecond)
		defer pause.Stop()
		for ctx.Err() == nil {
			var deleted int64
			if err := conn.QueryRow(context.WithoutCancel(ctx), sql).Scan(&deleted); err != nil {
				t.Errorf("pruner: %v", err)
				return
			}
			rows += deleted
			<-pause.C // leaves a processor to the clients, and some expired rows
		}
	}()
	return func() int64 {
		cancel()
		<-done
		return rows
	}
}
