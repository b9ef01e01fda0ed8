package linear

import (
	"context"
	"testing"
	"time"

	"github.com/queenkv/queenkv/tests/testdb"
)

// What a sweeper does: pick expired rows that nobody holds, and delete those very rows. A row that was renewed
// between the snapshot and the lock is looked at again and spared.
const pruneSQL = `delete from queen.kv where ctid = any (array(
	select ctid from queen.kv where expires_at <= clock_timestamp() limit 100 for update skip locked))`

// prune executes the statement all the time, until stop is called, which tells how many rows it has removed.
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
			tag, err := conn.Exec(context.WithoutCancel(ctx), sql)
			if err != nil {
				t.Errorf("pruner: %v", err)
				return
			}
			rows += tag.RowsAffected()
			<-pause.C // leaves a processor to the clients, and some expired rows
		}
	}()
	return func() int64 {
		cancel()
		<-done
		return rows
	}
}
