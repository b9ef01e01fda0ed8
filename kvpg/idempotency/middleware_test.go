package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/kvpg"
)

var (
	space  = kvpg.NewNamespace("requests")
	nobody = kvpg.BeginFunc[pgx.Tx](func(context.Context) (pgx.Tx, error) { return nil, errors.New("no database here") })
)

func alice(*http.Request) (string, error) { return "alice", nil }

func TestNewPanics(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]func(){
		"no database":       func() { New[pgx.Tx](nil, space, time.Hour, alice, nil) },
		"a transaction":     func() { New[pgx.Tx](struct{ pgx.Tx }{}, space, time.Hour, alice, nil) },
		"no namespace":      func() { New(nobody, kvpg.Namespace{}, time.Hour, alice, nil) },
		"no retention":      func() { New(nobody, space, 0, alice, nil) },
		"101 years":         func() { New(nobody, space, 101*366*24*time.Hour, alice, nil) },
		"no scope":          func() { New(nobody, space, time.Hour, nil, nil) },
		"GET":               func() { New(nobody, space, time.Hour, alice, &Options{Methods: []string{"POST", "GET"}}) },
		"HEAD":              func() { New(nobody, space, time.Hour, alice, &Options{Methods: []string{"HEAD"}}) },
		"post":              func() { New(nobody, space, time.Hour, alice, &Options{Methods: []string{"post"}}) },
		"a cookie":          func() { New(nobody, space, time.Hour, alice, &Options{Headers: []string{"set-cookie"}}) },
		"a length":          func() { New(nobody, space, time.Hour, alice, &Options{Headers: []string{"Content-Length"}}) },
		"a MaxBody below 0": func() { New(nobody, space, time.Hour, alice, &Options{MaxBody: -1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New does not panic", name)
				}
			}()
			wrong()
		}()
	}
	New(nobody, space, time.Hour, alice, nil) // the least that is enough
}

// ask sends a request through the middleware over no database, and gives the problem that comes back.
func ask(t *testing.T, scope func(*http.Request) (string, error), r *http.Request) (p Problem, w *httptest.ResponseRecorder, reported []error) {
	t.Helper()
	never := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
	w = httptest.NewRecorder()
	New(nobody, space, time.Hour, scope, &Options{
		MaxBody: 10,
		OnError: func(_ *http.Request, err error) { reported = append(reported, err) },
	})(never).ServeHTTP(w, r)
	if w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("the Content-Type is %q", w.Header().Get("Content-Type"))
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	if p.Status != w.Code || p.Title != http.StatusText(w.Code) || p.Detail == "" || p.Type != "" {
		t.Errorf("with status %d: %+v", w.Code, p)
	}
	return p, w, reported
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRefusals(t *testing.T) {
	t.Parallel()
	anonymous := func(*http.Request) (string, error) { return "", nil }
	failing := func(*http.Request) (string, error) { return "alice", errors.New("no session") }
	unknown := func(body io.Reader) io.Reader { return struct{ io.Reader }{body} } // its length is
	for name, c := range map[string]struct {
		scope    func(*http.Request) (string, error)
		key      string
		body     io.Reader
		code     string
		status   int
		reported bool
		retry    string
	}{
		"no key":                     {alice, "", nil, CodeKeyMissing, 400, false, ""},
		"a malformed key":            {alice, `k`, nil, CodeKeyMalformed, 400, false, ""},
		"nobody":                     {anonymous, `"k"`, nil, CodeInternal, 500, true, ""},
		"scope fails":                {failing, `"k"`, nil, CodeInternal, 500, true, ""},
		"11 bytes":                   {alice, `"k"`, strings.NewReader("12345678901"), CodeBodyTooLarge, 413, false, ""},
		"11 bytes, not declared":     {alice, `"k"`, unknown(strings.NewReader("12345678901")), CodeBodyTooLarge, 413, false, ""},
		"a body that breaks off":     {alice, `"k"`, brokenBody{}, CodeBodyUnreadable, 400, true, ""},
		"no transaction, 10 bytes":   {alice, `"k"`, strings.NewReader("1234567890"), CodeUnavailable, 503, true, "1"},
		"no transaction, undeclared": {alice, `"k"`, unknown(strings.NewReader("1234567890")), CodeUnavailable, 503, true, "1"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", c.body)
		if c.key != "" {
			r.Header.Set("idempotency-key", c.key)
		}
		p, w, reported := ask(t, c.scope, r)
		if p.Code != c.code || w.Code != c.status || (len(reported) > 0) != c.reported || w.Header().Get("Retry-After") != c.retry {
			t.Errorf("%s: got %d %+v, Retry-After %q, reported %v", name, w.Code, p, w.Header().Get("Retry-After"), reported)
		}
	}
}

// Of a key whose request may have been done nobody is told that it was not.
func TestProblemOfAnEarlierRequest(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errNotOurs, kvpg.ErrOnceUnfinished, kvpg.ErrOnceForeign, kvpg.ErrOnceStoredError} {
		if p := problemOf(err); strings.Contains(p.Detail, "not done") {
			t.Errorf("%v: %s", err, p.Detail)
		}
	}
}

// A method that needs no key goes to the handler as it came, without a transaction.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
		ran := false
		want := httptest.NewRequest(method, "/", nil)
		New(nobody, space, time.Hour, alice, nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, ok := TxOK[pgx.Tx](r.Context())
			ran = r == want && !ok
		})).ServeHTTP(httptest.NewRecorder(), want)
		if !ran {
			t.Errorf("%s: the handler did not get the request as it came", method)
		}
	}
	r := httptest.NewRequest(http.MethodPut, "/", nil)
	w := httptest.NewRecorder()
	New(nobody, space, time.Hour, alice, &Options{Methods: []string{"PUT"}})(http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("PUT without a key, where it needs one: got %d", w.Code)
	}
}

func TestMiddlewareAroundItself(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Idempotency-Key", `"k"`)
	p, _, reported := ask(t, alice, r.WithContext(context.WithValue(t.Context(), callKey{}, &call{})))
	if p.Code != CodeInternal || len(reported) != 1 {
		t.Errorf("got %+v, reported %v", p, reported)
	}
}

func TestProblemOfErrors(t *testing.T) {
	t.Parallel()
	server := func(state string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: state}) }
	for _, c := range []struct {
		err  error
		code string
	}{
		{kvpg.ErrOnceBusy, CodeKeyInFlight},
		{kvpg.ErrOnceMismatch, CodeKeyReused},
		{kvpg.ErrCommitUnknown, CodeOutcomeUnknown},
		{kvpg.ErrOnceUnfinished, CodeInternal},
		{kvpg.ErrOnceForeign, CodeInternal},
		{kvpg.ErrSchema, CodeInternal},
		{server("40001"), CodeUnavailable},
		{server("40P01"), CodeUnavailable},
		{server("57P01"), CodeUnavailable},
		{errors.Join(server("23505"), server("40001")), CodeUnavailable},
		{errors.Join(server("23505"), server("57P01")), CodeUnavailable},
		{server("53300"), CodeUnavailable},
		{server("08006"), CodeUnavailable},
		{server("57014"), CodeInternal},
		{server("42P01"), CodeInternal},
		{context.Canceled, CodeUnavailable},
		{context.DeadlineExceeded, CodeUnavailable},
		{&net.OpError{Err: errors.New("reset")}, CodeUnavailable},
		{noBegin{errors.New("closed pool")}, CodeUnavailable},
		{errTooLarge, CodeInternal},
		{errors.New("of the handler"), CodeInternal},
		{errNotOurs, CodeInternal},
	} {
		if p := problemOf(fmt.Errorf("again: %w", c.err)); p.Code != c.code || strings.Contains(p.Detail, c.err.Error()) {
			t.Errorf("%v: got %+v, want %s", c.err, p, c.code)
		}
	}
}

func TestLogGoesWhereNetHTTPLogs(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	server := &http.Server{ErrorLog: log.New(&text, "", 0), ReadHeaderTimeout: time.Second}
	r := httptest.NewRequest(http.MethodPost, "/payments?token=secret", nil)
	logError(r.WithContext(context.WithValue(t.Context(), http.ServerContextKey, server)), errors.New("what went wrong"))
	if text.String() != "POST /payments: what went wrong\n" {
		t.Errorf("logged %q", text.String())
	}
}

func TestTxOfAnotherType(t *testing.T) {
	t.Parallel()
	ctx := context.WithValue(t.Context(), callKey{}, &call{tx: kvpg.SQLTx{}})
	if _, ok := TxOK[kvpg.SQLTx](ctx); !ok {
		t.Error("the type of the transaction is not found")
	}
	if _, ok := TxOK[kvpg.Tx](ctx); !ok {
		t.Error("an interface that the transaction has is not found")
	}
	if _, ok := TxOK[pgx.Tx](ctx); ok {
		t.Error("another type is found")
	}
	for name, wrong := range map[string]func(){
		"Tx of another type": func() { Tx[pgx.Tx](ctx) },
		"Tx of nothing":      func() { Tx[pgx.Tx](t.Context()) },
		"Fail of nothing":    func() { Fail(t.Context(), io.EOF) },
	} {
		func() {
			defer func() {
				if message, ok := recover().(string); !ok || !strings.Contains(message, "idempotency: ") {
					t.Errorf("%s: panics with %q", name, message)
				}
			}()
			wrong()
		}()
	}
}
