package sweepergo

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/sweeper"
	"github.com/queenkv/queenkv/tests/testdb"
)

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

const someExpired = `insert into queen.kv (namespace, key, value, expires_at)
	select 'swept', 'k' || g, '1', clock_timestamp() - interval '1 minute' from generate_series(1, 500) as g`

// The server is killed, and then stopped in order, under a running sweeper: it tells of errors while the server is away, and
// goes on when it is back, though nobody touches it.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	c := testdb.Server(t, nil)
	pool, err := pgxpool.New(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	deleted, faults := make(chan int64, 1000), make(chan sweeper.Class, 1000)
	s := sweeper.New(pool, &sweeper.Options{
		MinIdle: 10 * time.Millisecond, MaxIdle: 50 * time.Millisecond, MinRetry: 10 * time.Millisecond, MaxRetry: 50 * time.Millisecond,
		Hooks: sweeper.Hooks{
			Step: func(s sweeper.Step) {
				if s.Deleted > 0 {
					deleted <- s.Deleted
				}
			},
			Error: func(e *sweeper.Error) {
				select {
				case faults <- e.Class:
				default:
				}
			},
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	limit := time.After(time.Minute)
	swept := func() {
		t.Helper()
		execute(t, c.URL(), someExpired)
		for n := int64(0); n < 500; {
			select {
			case d := <-deleted:
				n += d
			case <-limit:
				t.Fatal("it doesn't sweep")
			}
		}
	}
	swept()
	for _, end := range []func() error{c.Kill, c.Shutdown} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		select {
		case class := <-faults:
			if class != sweeper.Connection {
				t.Errorf("the class is %s", class)
			}
		case <-limit:
			t.Fatal("it tells of no error")
		}
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		swept()
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-limit:
		t.Error("it doesn't end")
	}
}
