package idempotency_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg/idempotency"
)

// A gate holds the first run of a handler until the test lets it go.
type gate struct {
	once    sync.Once
	inside  chan struct{} // closed when the first run is there
	release chan struct{}
}

func newGate() *gate { return &gate{inside: make(chan struct{}), release: make(chan struct{})} }

// around makes a handler whose first run stops once it has had its effect.
func (g *gate) around(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		handler(w, r)
		g.once.Do(func() {
			close(g.inside)
			<-g.release
		})
	}
}

const together = 8

// While the first request runs the others are told so at once; when it is done they get its answer.
func TestDuplicatesAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		g := newGate()
		a := start(t, over, nil, g.around(create))
		first := make(chan answer, 1)
		go func() { first <- a.send(t, request{body: "b"}) }()
		receive(t, g.inside)
		var all sync.WaitGroup
		for range together {
			all.Go(func() {
				got := a.send(t, request{body: "b"})
				expect(t, got, http.StatusConflict, idempotency.CodeKeyInFlight, false)
				if got.header.Get("Retry-After") != "1" {
					t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
				}
			})
		}
		all.Wait()
		close(g.release)
		expect(t, receive(t, first), http.StatusCreated, "b", false)
		for range together {
			all.Go(func() { expect(t, a.send(t, request{body: "b"}), http.StatusCreated, "b", true) })
		}
		all.Wait()
		a.effects(t, "b")
		a.reported(t, "")
	})
}

// With Wait they wait, and replay.
func TestDuplicatesWait(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		g := newGate()
		a := start(t, over, &idempotency.Options{Wait: true}, g.around(create))
		answers := make(chan answer, 4)
		send := func() { answers <- a.send(t, request{body: "b"}) }
		go send()
		receive(t, g.inside)
		for range 3 { // a pool of pgx has four connections at least
			go send()
		}
		a.waiting(t, 3)
		close(g.release)
		replays := 0
		for range 4 {
			got := receive(t, answers)
			expect(t, got, http.StatusCreated, "b", got.replayed)
			if got.replayed {
				replays++
			}
		}
		if replays != 3 {
			t.Errorf("%d of 4 are replays", replays)
		}
		a.effects(t, "b")
		a.reported(t, "")
	})
}

// A duplicate whose client goes away stops waiting, and does not run.
func TestWaitingClientGoesAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		g := newGate()
		a := start(t, over, &idempotency.Options{Wait: true}, g.around(create))
		first, second := make(chan answer, 1), make(chan error, 1)
		go func() { first <- a.send(t, request{body: "b"}) }()
		receive(t, g.inside)
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_, err := a.try(t, request{body: "b", ctx: ctx})
			second <- err
		}()
		a.waiting(t, 1)
		leave()
		if err := receive(t, second); !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		a.waiting(t, 0)
		close(g.release)
		expect(t, receive(t, first), http.StatusCreated, "b", false)
		a.running.Wait()
		a.effects(t, "b")
		a.reported(t, "context canceled")
	})
}

// waiting returns when so many sessions of the test's database wait for a lock.
func (a *api) waiting(t *testing.T, want int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		var have int
		err := a.admin.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`).Scan(&have)
		if err != nil {
			t.Fatal(err)
		}
		if have == want {
			return
		}
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("%d sessions wait for a lock, want %d", have, want)
		}
	}
}
