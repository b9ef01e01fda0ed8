package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/queenkv/queenkv/sweeper"
)

// failure is an error as the sweeper gives it, of a database that can't be reached.
func failure(t *testing.T) *sweeper.Error {
	t.Helper()
	cfg := &database{DatabaseURL: "postgres://127.0.0.1:1/x", ConnectTimeout: time.Second}
	pool, err := cfg.pool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var e *sweeper.Error
	if err := sweeper.New(pool, nil).Check(t.Context()); !errors.As(err, &e) {
		t.Fatal(err)
	}
	e.Doing = "expire"
	return e
}

func TestHealth(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHealth(2*time.Minute, 35*time.Second)
	h.now = func() time.Time { return now }
	ask := func(what http.HandlerFunc) (int, string) {
		w := httptest.NewRecorder()
		what(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil))
		return w.Code, w.Body.String()
	}
	expect := func(when string, healthy, ready bool, says string) {
		t.Helper()
		if code, _ := ask(h.healthz); (code == http.StatusOK) != healthy {
			t.Errorf("%s: healthz %d", when, code)
		}
		if code, body := ask(h.readyz); (code == http.StatusOK) != ready || !strings.Contains(body, says) {
			t.Errorf("%s: readyz %d %q", when, code, body)
		}
	}
	expect("at the start", true, false, "no step has succeeded yet")
	h.success()
	expect("after a step", true, true, "ok")
	now = now.Add(119 * time.Second)
	expect("idle", true, true, "ok")
	h.failure(failure(t))
	expect("the database is gone", true, false, "is the server up")
	h.success()
	expect("it is back", true, true, "ok")
	now = now.Add(125 * time.Second)
	expect("nothing for two minutes", true, false, "the last successful step was 2m5s ago")
	now = now.Add(6 * time.Second)
	expect("the loop hangs", false, false, "")
	h.success()
	h.stopping()
	expect("SIGTERM", true, false, "stopping")
}
