package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/idempotency"
)

// failingFirst has the effect and then fails, in the first run alone.
func failingFirst(t *testing.T, fail http.HandlerFunc) http.HandlerFunc {
	var runs atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if err := effect(r, "e"); err != nil {
			t.Error(err)
		}
		if runs.Add(1) == 1 {
			fail(w, r)
			return
		}
		_, _ = io.WriteString(w, "done")
	}
}

// healed: nothing is left of the failed request; its retry runs, and is replayed then.
func (a *api) healed(t *testing.T) {
	t.Helper()
	a.effects(t)
	expect(t, a.send(t, request{}), http.StatusOK, "done", false)
	expect(t, a.send(t, request{}), http.StatusOK, "done", true)
	a.effects(t, "e")
}

// A 5xx of the handler is sent as it is, and rolls back.
func TestServerErrorsRollBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, nil, failingFirst(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Reason", "broken")
			http.Error(w, "of the handler", http.StatusBadGateway)
		}))
		got := a.send(t, request{})
		expect(t, got, http.StatusBadGateway, "of the handler\n", false)
		if got.header.Get("X-Reason") != "broken" {
			t.Errorf("the headers are %v", got.header)
		}
		a.healed(t)
		a.reported(t, "") // it is the handler's to report
	})
}

func TestFail(t *testing.T) {
	t.Parallel()
	broken := errors.New("the printer is on fire")
	for name, c := range map[string]struct {
		write  func(w http.ResponseWriter)
		status int
		body   string
	}{
		"nothing written":  {func(http.ResponseWriter) {}, http.StatusInternalServerError, idempotency.CodeInternal},
		"a 201 written":    {func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) }, http.StatusInternalServerError, idempotency.CodeInternal},
		"a 503 of its own": {func(w http.ResponseWriter) { http.Error(w, "later", http.StatusServiceUnavailable) }, http.StatusServiceUnavailable, "later\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := start(t, overPool, nil, failingFirst(t, func(w http.ResponseWriter, r *http.Request) {
				c.write(w)
				idempotency.Fail(r.Context(), broken)
				idempotency.Fail(r.Context(), errors.New("another one")) // the first counts
			}))
			got := a.send(t, request{})
			expect(t, got, c.status, c.body, false)
			if strings.Contains(got.body, "printer") {
				t.Errorf("the client is shown the error: %s", got.body)
			}
			a.reported(t, broken.Error())
			a.healed(t)
		})
	}
}

// What a Once of the handler's own says about another key is an error like any other: it is reported, and the client is told
// neither that its request is running nor that its key was used.
func TestFailWithTheVerdictOfAnotherKey(t *testing.T) {
	t.Parallel()
	for _, verdict := range []error{kvpg.ErrOnceBusy, kvpg.ErrOnceMismatch, kvpg.ErrOnceUnfinished, kvpg.ErrOnceForeign} {
		t.Run(verdict.Error(), func(t *testing.T) {
			t.Parallel()
			a := start(t, overPool, nil, failingFirst(t, func(_ http.ResponseWriter, r *http.Request) {
				idempotency.Fail(r.Context(), fmt.Errorf("another key: %w", verdict))
			}))
			got := a.send(t, request{})
			expect(t, got, http.StatusInternalServerError, idempotency.CodeInternal, false)
			if strings.Contains(got.body, "Idempotency-Key") {
				t.Errorf("the client is told about its key: %s", got.body)
			}
			a.reported(t, "another key: "+verdict.Error())
			a.healed(t)
		})
	}
}

// A panic rolls back and goes on to net/http: the connection ends, and only http.ErrAbortHandler is not logged.
func TestPanics(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		for name, logged := range map[string]bool{"overboard": true, "ErrAbortHandler": false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := start(t, over, nil, failingFirst(t, func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "never sent")
					if logged {
						panic(name)
					}
					panic(http.ErrAbortHandler)
				}))
				if got, err := a.try(t, request{}); err == nil {
					t.Errorf("the client got %d %q", got.status, got.body)
				}
				a.healed(t)
				if strings.Contains(a.logs.String(), "panic serving") != logged {
					t.Errorf("the server logged %q", a.logs)
				}
			})
		}
	})
}

// A client that goes away ends the request: what it did is rolled back, whatever the handler answers, and the retry runs.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		inside, left := make(chan struct{}), make(chan struct{})
		a := start(t, over, nil, failingFirst(t, func(w http.ResponseWriter, r *http.Request) {
			close(inside)
			<-r.Context().Done()
			if err := effect(r, "too late"); err == nil {
				t.Error("a statement after the client has gone succeeds")
			}
			w.WriteHeader(http.StatusCreated)
			close(left)
		}))
		ctx, leave := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := a.try(t, request{ctx: ctx})
			failed <- err
		}()
		receive(t, inside)
		leave()
		if err := receive(t, failed); !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		receive(t, left)
		a.running.Wait()
		a.idle(t)
		a.healed(t)
		a.reported(t, "context canceled")
	})
}

// idle returns when no transaction is open in the database but the test's own.
func (a *api) idle(t *testing.T) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		var open int
		err := a.admin.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`).Scan(&open)
		if err != nil {
			t.Fatal(err)
		}
		if open == 0 {
			return
		}
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("%d transactions are still open", open)
		}
	}
}

// The database ends the session under the handler: nothing was done, and a retry will get past that.
func TestSessionIsTerminated(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		var admin *pgxpool.Pool
		a := start(t, over, nil, failingFirst(t, func(_ http.ResponseWriter, r *http.Request) {
			tx := idempotency.Tx[kvpg.Tx](r.Context())
			var pid int
			err := tx.QueryRow(r.Context(), "select pg_backend_pid()").Scan(&pid)
			if err == nil {
				_, err = admin.Exec(r.Context(), "select pg_terminate_backend($1)", pid)
			}
			if err != nil {
				t.Error(err)
			}
			_, err = tx.Exec(r.Context(), "select 1")
			if err == nil {
				t.Error("the session is still there")
			}
			idempotency.Fail(r.Context(), err)
		}))
		admin = a.admin
		got := a.send(t, request{})
		expect(t, got, http.StatusServiceUnavailable, idempotency.CodeUnavailable, false)
		if got.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
		}
		a.idle(t)
		a.healed(t)
	})
}

// An error of a statement that the handler kept to itself has aborted the transaction: nothing can be stored.
func TestErrorKeptQuiet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, nil, failingFirst(t, func(w http.ResponseWriter, r *http.Request) {
			tx := idempotency.Tx[kvpg.Tx](r.Context())
			if _, err := tx.Exec(r.Context(), "select 1/0"); err == nil {
				t.Error("1/0 is something")
			}
			w.WriteHeader(http.StatusConflict)
		}))
		expect(t, a.send(t, request{}), http.StatusInternalServerError, idempotency.CodeInternal, false)
		a.reported(t, "the handler answered 409 in a transaction that an error had aborted")
		a.healed(t)
	})
}
