package once

import (
	"context"
	"sync"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
)

// A meeting lets two goroutines go on when both are there, the first time that each comes.
type meeting struct {
	mu   sync.Mutex
	came map[string]bool
	both chan struct{}
}

func newMeeting() *meeting { return &meeting{came: map[string]bool{}, both: make(chan struct{})} }

func (m *meeting) wait(who string) {
	m.mu.Lock()
	first := !m.came[who]
	m.came[who] = true
	if first && len(m.came) == 2 {
		close(m.both)
	}
	m.mu.Unlock()
	if first {
		<-m.both
	}
}

// runBoth runs two transactions beside each other and gives how often their functions ran.
func runBoth(t *testing.T, handle func() beginner, fn func(ctx context.Context, tx kvpg.Tx, who string) error) (runs int) {
	t.Helper()
	var mu sync.Mutex
	done := make(chan error, 2)
	for _, who := range []string{"a", "b"} {
		begin := handle()
		go func() {
			done <- kvpg.RunTx(t.Context(), begin, func(ctx context.Context, tx kvpg.Tx) error {
				mu.Lock()
				runs++
				mu.Unlock()
				if _, err := write(tx, who)(ctx); err != nil {
					return err
				}
				return fn(ctx, tx, who)
			}, nil)
		}()
	}
	for range 2 {
		if err := await(t, done); err != nil {
			t.Error(err)
		}
	}
	return runs
}

// TestRunTxSerializationFailure: two transactions that each read what the other writes can't both be right, and one is told so at
// its COMMIT or before. RunTx runs it again, and each effect is there once.
func TestRunTxSerializationFailure(t *testing.T) {
	t.Parallel()
	for name, connect := range handles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			db.Exec(t, `create table public.row (id text primary key, n int not null); insert into public.row values ('a', 0), ('b', 0)`)
			m := newMeeting()
			runs := runBoth(t, func() beginner { return at("serializable", connect(t, db)) }, func(ctx context.Context, tx kvpg.Tx, who string) error {
				var n int
				if err := tx.QueryRow(ctx, `select sum(n) from public.row`).Scan(&n); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `update public.row set n = n + 1 where id = '`+who+`'`)
				m.wait(who)
				return err
			})
			if runs < 3 { // a retry that comes early may fail again
				t.Errorf("the functions ran %d times: neither ran again", runs)
			}
			if got := effects(t, db); got != "a b" {
				t.Errorf("effects: %q", got)
			}
		})
	}
}

// TestRunTxDeadlock: two transactions that lock two rows in opposite orders.
func TestRunTxDeadlock(t *testing.T) {
	t.Parallel()
	for name, connect := range handles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			db.Exec(t, `create table public.row (id text primary key, n int not null); insert into public.row values ('a', 0), ('b', 0)`)
			m := newMeeting()
			runs := runBoth(t, func() beginner { return connect(t, db) }, func(ctx context.Context, tx kvpg.Tx, who string) error {
				_, err := tx.Exec(ctx, `update public.row set n = n + 1 where id = '`+who+`'`)
				if err != nil {
					return err
				}
				m.wait(who)
				_, err = tx.Exec(ctx, `update public.row set n = n + 1 where id <> '`+who+`'`)
				return err
			})
			if runs < 3 { // a victim that retries before the other one wakes may be one again
				t.Errorf("the functions ran %d times: neither was a deadlock's victim", runs)
			}
			if got := effects(t, db); got != "a b" {
				t.Errorf("effects: %q", got)
			}
			if n := ask[int64](t, db.Pool(t), `select min(n) from public.row`); n != 2 {
				t.Errorf("a row has %d, want 2", n)
			}
		})
	}
}
