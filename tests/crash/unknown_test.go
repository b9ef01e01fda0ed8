package crash

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "github.com/lib/pq"              // the driver postgres

	"github.com/queenkv/queenkv/kvpg"
)

// book is OnceTx with a row in the ledger for its effect, over whatever handle.
type book func(ctx context.Context, key string) (kvpg.OnceResult, error)

func booking[T kvpg.Tx](handle kvpg.Beginner[T], runs *int) book {
	return func(ctx context.Context, key string) (kvpg.OnceResult, error) {
		return kvpg.OnceTx(ctx, handle, deliveries, key, retention, func(ctx context.Context, tx T) ([]byte, error) {
			*runs++
			_, err := tx.Exec(ctx, "insert into ledger (delivery) values ('"+key+"')")
			return []byte("booked"), err
		}, nil)
	}
}

// handles are the drivers, each of which tells a lost connection in its own way.
var handles = map[string]func(t *testing.T, url string, runs *int) book{
	"pgxpool": func(t *testing.T, url string, runs *int) book {
		pool, err := pgxpool.New(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		return booking(pool, runs)
	},
	"database/sql and pgx": func(t *testing.T, url string, runs *int) book {
		return booking(kvpg.FromSQL(openSQL(t, "pgx", url)), runs)
	},
	"database/sql and lib/pq": func(t *testing.T, url string, runs *int) book {
		return booking(kvpg.FromSQL(openSQL(t, "postgres", url)), runs)
	},
}

func openSQL(t *testing.T, driver, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// booked is a call of book in the background.
type booked struct {
	result kvpg.OnceResult
	err    error
}

func (b book) start(ctx context.Context, key string) <-chan booked {
	done := make(chan booked, 1)
	go func() {
		r, err := b(ctx, key)
		done <- booked{r, err}
	}()
	return done
}

func await[V any](t *testing.T, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("it is still waiting")
		panic("not reached")
	}
}

func ledger(t *testing.T, u *url.URL, key string) (rows int) {
	t.Helper()
	db := openSQL(t, "pgx", u.String())
	if err := db.QueryRowContext(t.Context(), "select count(*) from ledger where delivery = $1", key).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestUnknownCommit cuts the socket during COMMIT, before the server has it and after the server has done it. Nothing that the
// client sees tells the two apart; with the same key again there is exactly one effect.
func TestUnknownCommit(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	u := newDatabase(t, c, "unknown")
	for name, connect := range handles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tap, address := newProxy(t, "unknown", u.Host)
			to, err := through(u, address, "unknown")
			if err != nil {
				t.Fatal(err)
			}
			for at, committed := range map[moment]int{sent: 0, answered: 1} {
				runs, key := 0, name+", "+string(at)
				book := connect(t, to, &runs)
				g := newGate(at, 0)
				tap.arm(g)
				done := book.start(t.Context(), key)
				await(t, g.reached)
				g.release(lose)
				first := await(t, done)
				if !errors.Is(first.err, kvpg.ErrCommitUnknown) || kvpg.IsRetryable(first.err) || first.result.Result != nil || runs != 1 {
					t.Errorf("%s: got %+v after %d runs, want ErrCommitUnknown after one", at, first, runs)
				}
				if rows := ledger(t, u, key); rows != committed {
					t.Errorf("%s: %d rows, want %d", at, rows, committed)
				}
				again, err := book(t.Context(), key)
				if err != nil || string(again.Result) != "booked" || again.Replayed != (committed == 1) || runs != 2-committed {
					t.Errorf("%s, again: got %+v, %v after %d runs in all", at, again, err, runs)
				}
				if rows := ledger(t, u, key); rows != 1 {
					t.Errorf("%s: %d rows in the end", at, rows)
				}
			}
		})
	}
}

// TestContextEndsDuringCommit: COMMIT is on its way when the context ends. Over pgx RunTx hears the answer all the same, and the
// connection is kept; database/sql lets go at once, so that it is unknown.
func TestContextEndsDuringCommit(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	u := newDatabase(t, c, "ended")
	for name, connect := range handles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tap, address := newProxy(t, "ended", u.Host)
			to, err := through(u, address, "ended")
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			book := connect(t, to, &runs)
			g := newGate(answered, 0)
			tap.arm(g)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := book.start(ctx, name)
			await(t, g.reached)
			cancel()
			var first booked
			if name == "database/sql and pgx" { // nothing else would end its wait
				first = await(t, done)
				g.release(lose)
			} else {
				g.release(deliver)
				first = await(t, done)
			}
			if first.err != nil && !errors.Is(first.err, kvpg.ErrCommitUnknown) || name == "pgxpool" && first.err != nil {
				t.Errorf("got %+v", first)
			}
			again, err := book(t.Context(), name)
			if err != nil || !again.Replayed || runs != 1 {
				t.Errorf("again: got %+v, %v after %d runs in all, want a replay", again, err, runs)
			}
			if rows := ledger(t, u, name); rows != 1 {
				t.Errorf("%d rows", rows)
			}
		})
	}
}
