package idempotency_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/idempotency"
	"github.com/queenkv/queenkv/tests/testdb"
)

// A client that goes away in the middle of its body has done nothing.
func TestClientGoesAwayWithinTheBody(t *testing.T) {
	t.Parallel()
	a := start(t, overPool, nil, create)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nX-User: alice\r\nIdempotency-Key: \"k\"\r\nContent-Length: 4\r\n\r\nbod")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil { // until the server has closed it as well
		t.Fatal(err)
	}
	a.reported(t, "reading the request's body: unexpected EOF")
	a.effects(t)
	expect(t, a.send(t, request{body: "body"}), http.StatusCreated, "body", false)
}

// A handler that commits by itself has taken the effect apart from its answer: nobody runs it again, and OnError says so.
func TestHandlerThatCommits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, nil, func(_ http.ResponseWriter, r *http.Request) {
			if err := effect(r, "e"); err != nil {
				t.Error(err)
			}
			if err := idempotency.Tx[kvpg.Tx](r.Context()).Commit(r.Context()); err != nil {
				t.Error(err)
			}
		})
		for range 2 {
			expect(t, a.send(t, request{}), http.StatusInternalServerError, idempotency.CodeInternal, false)
		}
		a.effects(t, "e")
		a.reported(t, "kv_once_unfinished")
	})
}

// What is under the key already, and is no response, is neither sent nor run over.
func TestForeignValues(t *testing.T) {
	t.Parallel()
	a := start(t, overPool, nil, create)
	put := func(key string) {
		if _, err := kvpg.Put(t.Context(), a.admin, requests, key, "mine", kvpg.Forever(), nil); err != nil {
			t.Fatal(err)
		}
	}
	put("p:5:alice:k")
	expect(t, a.send(t, request{body: "b"}), http.StatusInternalServerError, idempotency.CodeInternal, false)
	a.reported(t, "kv_once_foreign")

	expect(t, a.send(t, request{key: "2", body: "b"}), http.StatusCreated, "b", false)
	_, err := a.admin.Exec(t.Context(), `update queen.kv set value = jsonb_set(value, '{result}', '"AAAA"') where key = 'p:5:alice:2'`)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, a.send(t, request{key: "2", body: "b"}), http.StatusInternalServerError, idempotency.CodeInternal, false)
	a.reported(t, "no response that this release can read")
	a.effects(t, "b")
}

// A body that something around the middleware has read can't tell one request from another: another body under the key would
// get the first one's answer. So the request is refused, and nothing is done.
func TestBodyReadBeforeTheMiddleware(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*http.Request) error{
		"the body": func(r *http.Request) error { _, err := io.Copy(io.Discard, r.Body); return err },
		"a form":   func(r *http.Request) error { return r.ParseForm() },
		"a form of unknown length": func(r *http.Request) error {
			r.ContentLength = -1 // as of a chunked one
			return r.ParseForm()
		},
		"read in part": func(r *http.Request) error { // what is left, "00", is the same of both
			_, err := io.ReadFull(r.Body, make([]byte, len("cents=5")))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			around := func(t *testing.T, db *testdb.DB, opts *idempotency.Options) func(http.Handler) http.Handler {
				inner := overPool(t, db, opts)
				return func(next http.Handler) http.Handler {
					wrapped := inner(next)
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
						if err := read(r); err != nil {
							t.Error(err)
						}
						wrapped.ServeHTTP(w, r)
					})
				}
			}
			a := start(t, around, nil, func(_ http.ResponseWriter, r *http.Request) {
				if err := effect(r, "e"); err != nil {
					t.Error(err)
				}
			})
			for _, body := range []string{"cents=500", "cents=900"} {
				expect(t, a.send(t, request{body: body}), http.StatusInternalServerError, idempotency.CodeInternal, false)
			}
			a.reported(t, "has read the request's body")
			a.effects(t)
		})
	}
}
