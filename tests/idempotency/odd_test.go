package idempotency_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/idempotency"
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
