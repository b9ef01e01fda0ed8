package idempotency_test

import (
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/kvpg/idempotency"
)

func TestReplayIsByteForByte(t *testing.T) {
	t.Parallel()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, &idempotency.Options{Headers: []string{"x-receipt"}}, func(w http.ResponseWriter, r *http.Request) {
			if err := effect(r, "e"); err != nil {
				t.Error(err)
			}
			h := w.Header()
			h.Set("Content-Type", "application/octet-stream")
			h.Set("Location", "/things/7")
			h.Add("Link", "</1>; rel=a")
			h.Add("Link", "</2>; rel=b")
			h.Set("X-Receipt", "\xe4 7")
			h.Set("X-Moment", "now")
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(every)
		})
		first := a.send(t, request{body: "b"})
		expect(t, first, http.StatusCreated, string(every), false)
		if first.header.Get("X-Moment") != "now" || first.header.Get("Set-Cookie") == "" || first.header["Idempotent-Replayed"] != nil {
			t.Errorf("the first answer has the headers %v", first.header)
		}
		for range 2 {
			again := a.send(t, request{body: "b"})
			expect(t, again, http.StatusCreated, string(every), true)
			want := http.Header{
				"Content-Type": {"application/octet-stream"}, "Location": {"/things/7"}, "Link": {"</1>; rel=a", "</2>; rel=b"},
				"X-Receipt": {"\xe4 7"}, "Content-Length": {"256"}, "Idempotent-Replayed": {"true"},
			}
			again.header.Del("Date")
			if !reflect.DeepEqual(again.header, want) {
				t.Errorf("the replay has the headers %v, want %v", again.header, want)
			}
		}
		a.effects(t, "e")
		a.reported(t, "")
		var kept int
		err := a.admin.QueryRow(t.Context(), `select count(*) from queen.kv
			where position('secret'::bytea in decode(value ->> 'result', 'base64')) > 0`).Scan(&kept)
		if err != nil || kept != 0 {
			t.Errorf("the cookie lies in %d rows, %v", kept, err)
		}
	})
}

// The Content-Type of a body that has none is what net/http finds, the first time and again; and one that was not wanted stays away.
func TestReplayOfASniffedType(t *testing.T) {
	t.Parallel()
	a := start(t, overPool, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/untyped" {
			w.Header()["Content-Type"] = nil
		}
		_, _ = io.WriteString(w, "<html>")
	})
	for path, want := range map[string]string{"/sniffed": "text/html; charset=utf-8", "/untyped": ""} {
		for _, replayed := range []bool{false, true} {
			got := a.send(t, request{target: path, key: path})
			expect(t, got, http.StatusOK, "<html>", replayed)
			if got.header.Get("Content-Type") != want {
				t.Errorf("%s: the Content-Type is %q", path, got.header.Get("Content-Type"))
			}
		}
	}
}

// Two principals with one key and one body are two effects, and neither is shown the other's answer.
func TestTwoPrincipals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, nil, func(w http.ResponseWriter, r *http.Request) {
			name := r.Header.Get("X-User")
			if err := effect(r, strconv.Quote(name)); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, "for "+name)
		})
		long := strings.Repeat("l", 3000)
		for _, replayed := range []bool{false, true} {
			for _, name := range []string{"alice", "bob", "5:alice", "\xff", long, long + "2"} {
				expect(t, a.send(t, request{user: name}), http.StatusOK, "for "+name, replayed)
			}
		}
		// Where one of the pair ends and the other begins.
		for _, replayed := range []bool{false, true} {
			expect(t, a.send(t, request{user: "a", key: "b:c"}), http.StatusOK, "for a", replayed)
			expect(t, a.send(t, request{user: "a:b", key: "c"}), http.StatusOK, "for a:b", replayed)
		}
	})
}

func TestAnotherRequestUnderTheKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, nil, create)
		first := request{method: http.MethodPost, target: "/a?b=1", body: "body"}
		expect(t, a.send(t, first), http.StatusCreated, "body", false)
		for name, other := range map[string]request{
			"method": {method: http.MethodPatch, target: "/a?b=1", body: "body"},
			"path":   {target: "/a/?b=1", body: "body"},
			"query":  {target: "/a?b=2", body: "body"},
			"body":   {target: "/a?b=1", body: "bodY"},
			"none":   {target: "/a?b=1"},
			"shift":  {target: "/a?b=1b", body: "ody"},
		} {
			t.Run(name, func(t *testing.T) {
				expect(t, a.send(t, other), http.StatusUnprocessableEntity, idempotency.CodeKeyReused, false)
			})
		}
		expect(t, a.send(t, first), http.StatusCreated, "body", true)
		a.effects(t, "body")
		a.reported(t, "")
	})
}

// A 4xx is an outcome: it is stored, and what the handler wrote in the transaction is committed with it.
func TestClientErrorsAreStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, nil, func(w http.ResponseWriter, r *http.Request) {
			if err := effect(r, "refused"); err != nil {
				t.Error(err)
			}
			http.Error(w, "insufficient funds", http.StatusPaymentRequired)
		})
		expect(t, a.send(t, request{}), http.StatusPaymentRequired, "insufficient funds\n", false)
		expect(t, a.send(t, request{}), http.StatusPaymentRequired, "insufficient funds\n", true)
		a.effects(t, "refused")
	})
}

// A status that Store excludes is sent and rolled back.
func TestStoreDrawsTheLine(t *testing.T) {
	t.Parallel()
	busy := true
	notBusy := &idempotency.Options{Store: func(status int) bool { return status < 500 && status != http.StatusTooManyRequests }}
	a := start(t, overPool, notBusy, func(w http.ResponseWriter, r *http.Request) {
		if err := effect(r, "e"); err != nil {
			t.Error(err)
		}
		if busy {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	got := a.send(t, request{})
	expect(t, got, http.StatusTooManyRequests, "", false)
	if got.header.Get("Retry-After") != "7" {
		t.Errorf("the headers are %v", got.header)
	}
	a.effects(t)
	busy = false
	expect(t, a.send(t, request{}), http.StatusOK, "", false)
	a.effects(t, "e")
}

func TestLargeResponses(t *testing.T) {
	t.Parallel()
	const most = 48000
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := effect(r, string(body)); err != nil {
			t.Error(err)
		}
		w.Header().Set("Location", "/things/7")
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusCreated)
		switch string(body) {
		case "fits": // what is stored beside the body is less than 100 bytes
			_, _ = io.WriteString(w, strings.Repeat("x", most-100))
		case "headers tip it":
			_, _ = io.WriteString(w, strings.Repeat("x", most))
		case "far above":
			for range 100 {
				_, _ = io.WriteString(w, strings.Repeat("x", most))
			}
		}
	}
	t.Run("fail", func(t *testing.T) {
		t.Parallel()
		a := start(t, overPool, nil, handler)
		for _, replayed := range []bool{false, true} {
			expect(t, a.send(t, request{key: "fits", body: "fits"}), http.StatusCreated, strings.Repeat("x", most-100), replayed)
		}
		a.reported(t, "")
		for _, body := range []string{"headers tip it", "far above"} {
			for range 2 {
				expect(t, a.send(t, request{key: body, body: body}), http.StatusInternalServerError, idempotency.CodeInternal, false)
			}
		}
		a.effects(t, "fits")
		a.reported(t, "too large to be stored, and Options.DropLargeBody is not set")
	})
	t.Run("drop", func(t *testing.T) {
		t.Parallel()
		a := start(t, overPool, &idempotency.Options{DropLargeBody: true}, handler)
		for body, size := range map[string]int{"headers tip it": most, "far above": 100 * most} {
			expect(t, a.send(t, request{key: body, body: body}), http.StatusCreated, strings.Repeat("x", size), false)
			again := a.send(t, request{key: body, body: body})
			expect(t, again, http.StatusGone, idempotency.CodeResponseNotKept, true)
			if again.header.Get("Location") != "/things/7" || !strings.Contains(again.body, `"originalStatus":201`) {
				t.Errorf("got %v %s", again.header, again.body)
			}
		}
		a.effects(t, "far above", "headers tip it")
		a.reported(t, "")
	})
}
