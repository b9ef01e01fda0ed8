package deadlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

var counters = kvpg.NewNamespace("counters")

// TestTwoCalls is what the documentation warns of: two transactions write the same two keys, each in two calls, in opposite
// order. One of them gets an error of the driver that says to run it again, which is done, and every effect is there once. The
// second run may take the freed key before the one that waits for it, and be in a deadlock again.
func TestTwoCalls(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	var running sync.WaitGroup
	var both met
	both.needed, both.all = 2, make(chan struct{})
	var clients [2]twoCalls
	for i := range clients {
		order := [2]string{"a", "b"}
		if i == 1 {
			order = [2]string{"b", "a"}
		}
		clients[i] = twoCalls{conn: db.Conn(t), keys: order}
		running.Go(func() { clients[i].err = clients[i].run(t.Context(), &both) })
	}
	running.Wait()

	failed := slices.Concat(clients[0].failed, clients[1].failed)
	if err := errors.Join(clients[0].err, clients[1].err); err != nil {
		t.Fatal(err)
	}
	if len(failed) == 0 {
		t.Fatal("no transaction failed")
	}
	for _, err := range failed {
		var typed *kvpg.Error
		if !errors.As(err, &typed) || typed.SQLState != "40P01" || typed.Code != "" || !kvpg.IsRetryable(err) {
			t.Errorf("%#v, want a *kvpg.Error with SQLSTATE 40P01 that is retryable", err)
		}
	}
	entries, err := kvpg.GetMany(t.Context(), db.Conn(t), counters, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if string(e.Value) != "2" {
			t.Errorf("%s is %s, want 2: one from each transaction", e.Key, e.Value)
		}
	}
}

// twoCalls is a client with a transaction of two calls.
type twoCalls struct {
	conn   *pgx.Conn
	keys   [2]string
	failed []error // the attempts that were to be run again
	err    error
}

func (c *twoCalls) run(ctx context.Context, both *met) error {
	for first := true; ; first = false {
		err := c.attempt(ctx, func() error {
			if first {
				return both.meet(ctx)
			}
			return nil
		})
		if !kvpg.IsRetryable(err) {
			return err
		}
		c.failed = append(c.failed, err)
	}
}

func (c *twoCalls) attempt(ctx context.Context, between func() error) error {
	tx, err := c.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := kvpg.Incr(ctx, tx, counters, c.keys[0], 1, kvpg.Forever(), nil); err != nil {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	if _, err := kvpg.Incr(ctx, tx, counters, c.keys[1], 1, kvpg.Forever(), nil); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// met lets go those who wait when as many as are needed have come.
type met struct {
	mu     sync.Mutex
	needed int
	all    chan struct{}
}

func (m *met) meet(ctx context.Context) error {
	m.mu.Lock()
	if m.needed--; m.needed == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
