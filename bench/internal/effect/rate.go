package effect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Rate is how many calls a second the clients make for so long, each with a key of its own. bench.effect is empty before; conn counts that every
// call has left one row in it.
func Rate(ctx context.Context, conn *pgx.Conn, clients int, length time.Duration, call func(ctx context.Context, key string) error) (float64, error) {
	var done atomic.Int64
	errs := make([]error, clients)
	began := time.Now()
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for n := 0; time.Since(began) < length; n++ {
				if errs[client] = call(ctx, strconv.Itoa(client)+"/"+strconv.Itoa(n)); errs[client] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	var rows int64
	if err := conn.QueryRow(ctx, `select count(*) from bench.effect`).Scan(&rows); err != nil {
		return 0, err
	}
	if rows != done.Load() {
		return 0, fmt.Errorf("%d calls left %d effects", done.Load(), rows)
	}
	return float64(done.Load()) / took.Seconds(), nil
}
