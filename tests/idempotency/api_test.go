// Package idempotency_test plays the middleware with real servers and clients over a real database.
package idempotency_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/idempotency"
	"github.com/queenkv/queenkv/tests/testdb"
)

var requests = kvpg.NewNamespace("requests")

// An api is a server with the middleware around one handler, and a table that holds the handler's effects, any number of each.
type api struct {
	*httptest.Server
	db    *testdb.DB
	admin *pgxpool.Pool // for the test's own looks at the database
	logs  *notes        // what the server logged
	errs  *notes        // what OnError got

	running sync.WaitGroup // the requests that the middleware has not done with
}

// notes are lines that several goroutines write.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// wrap makes the middleware over a database of the test's.
type wrap func(t *testing.T, db *testdb.DB, opts *idempotency.Options) func(http.Handler) http.Handler

func overPool(t *testing.T, db *testdb.DB, opts *idempotency.Options) func(http.Handler) http.Handler {
	return idempotency.New(db.Pool(t), requests, time.Hour, user, opts)
}

func overSQL(t *testing.T, db *testdb.DB, opts *idempotency.Options) func(http.Handler) http.Handler {
	return idempotency.New(kvpg.FromSQL(openSQL(t, db)), requests, time.Hour, user, opts)
}

func openSQL(t *testing.T, db *testdb.DB) *sql.DB {
	t.Helper()
	pool, err := sql.Open("pgx", db.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// each runs f over a pgx pool and over database/sql.
func each(t *testing.T, f func(t *testing.T, over wrap)) {
	t.Helper()
	for name, over := range map[string]wrap{"pgxpool": overPool, "database/sql": overSQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, over)
		})
	}
}

// user is the principal of a request: who it says it is, which will do for a test.
func user(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }

func start(t *testing.T, over wrap, opts *idempotency.Options, handler http.HandlerFunc) *api {
	t.Helper()
	db := testdb.New(t, nil)
	db.Exec(t, "create table effect (name text not null)")
	a := &api{db: db, logs: &notes{}, errs: &notes{}}
	a.admin = db.Pool(t)
	set := idempotency.Options{}
	if opts != nil {
		set = *opts
	}
	set.OnError = func(_ *http.Request, err error) { _, _ = io.WriteString(a.errs, err.Error()+"\n") }
	wrapped := over(t, db, &set)(handler)
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.running.Add(1)
		defer a.running.Done()
		wrapped.ServeHTTP(w, r)
	}))
	a.Config.ErrorLog = log.New(a.logs, "", 0)
	a.Start()
	t.Cleanup(a.Close)
	return a
}

// effect does the handler's effect in its transaction, of whatever kind.
func effect(r *http.Request, name string) error {
	_, err := idempotency.Tx[kvpg.Tx](r.Context()).Exec(r.Context(), "insert into effect values ($1)", name)
	return err
}

// create has an effect, the body, and answers 201 with it.
func create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = effect(r, string(body))
	}
	if err != nil {
		idempotency.Fail(r.Context(), err)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

// request is one request, of alice with the key "k" unless it says otherwise.
type request struct {
	method, target, user, key string
	body                      string
	ctx                       context.Context
}

type answer struct {
	status   int
	header   http.Header
	body     string
	replayed bool
}

// code is the code of a problem.
func (a answer) code() string {
	var p idempotency.Problem
	if a.header.Get("Content-Type") != "application/problem+json" || json.Unmarshal([]byte(a.body), &p) != nil {
		return ""
	}
	return p.Code
}

// try sends a request and gives the whole answer.
func (a *api) try(t *testing.T, q request) (answer, error) {
	t.Helper()
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	if q.ctx == nil {
		q.ctx = t.Context()
	}
	r, err := http.NewRequestWithContext(q.ctx, or(q.method, http.MethodPost), a.URL+or(q.target, "/"), bytes.NewReader([]byte(q.body)))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("X-User", or(q.user, "alice"))
	r.Header.Set("Idempotency-Key", `"`+or(q.key, "k")+`"`)
	r.GetBody = nil // or the client would send some requests again by itself
	response, err := a.Client().Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(body), response.Header.Get("Idempotent-Replayed") == "true"}, err
}

func (a *api) send(t *testing.T, q request) answer {
	t.Helper()
	got, err := a.try(t, q)
	if err != nil {
		t.Error(err)
	}
	return got
}

// expect fails the test when the answer is another one. Of a problem the body is its code.
func expect(t *testing.T, got answer, status int, body string, replayed bool) {
	t.Helper()
	have := got.body
	if code := got.code(); code != "" {
		have = code
	}
	if got.status != status || have != body || got.replayed != replayed {
		t.Errorf("got %d %.200q, replayed %v; want %d %.200q, replayed %v", got.status, have, got.replayed, status, body, replayed)
	}
}

// effects fails the test when there are others than these, in whatever order.
func (a *api) effects(t *testing.T, want ...string) {
	t.Helper()
	rows, err := a.admin.Query(t.Context(), `select name from effect order by name collate "C"`)
	if err != nil {
		t.Fatal(err)
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(have, "|") != strings.Join(want, "|") {
		t.Errorf("the effects are %q, want %q", have, want)
	}
}

// reported fails the test when OnError did not get such an error, or any where none is wanted.
func (a *api) reported(t *testing.T, want string) {
	t.Helper()
	have := a.errs.String()
	if want == "" && have != "" || !strings.Contains(have, want) {
		t.Errorf("OnError got %q, want %q", have, want)
	}
}

// receive waits for something that must come; the time is only there so that no failure hangs.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("it did not come")
		panic("unreachable")
	}
}
