package idempotency

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// recorded serves what a handler writes through a recorder.
func recorded(t *testing.T, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := newRecorder(w, 0)
		handler(rec, r)
		p, err := rec.finish()
		if err != nil {
			t.Errorf("finish: %v", err)
			return
		}
		if err := p.send(w); err != nil {
			t.Errorf("send: %v", err)
		}
	}
}

type got struct {
	Status int
	Header http.Header
	Body   string
}

// answer is what a client of a real server gets from a handler, without the Date.
func answer(t *testing.T, handler http.HandlerFunc) got {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Around", "set by what is around")
		w.Header().Set("X-Removed", "set by what is around")
		handler(w, r)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	response.Header.Del("Date")
	return got{response.StatusCode, response.Header, string(body)}
}

// What a client gets through a recorder is what net/http would have sent it.
func TestRecorderAnswersAsNetHTTP(t *testing.T) {
	t.Parallel()
	write := func(w io.Writer, text string) { _, _ = io.WriteString(w, text) }
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":     func(http.ResponseWriter, *http.Request) {},
		"a status":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) },
		"empty write": func(w http.ResponseWriter, _ *http.Request) { write(w, "") },
		"a body":      func(w http.ResponseWriter, _ *http.Request) { write(w, "hello") },
		"two writes":  func(w http.ResponseWriter, _ *http.Request) { write(w, "<ht"); write(w, "ml>") },
		"every byte": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 256 {
				_, _ = w.Write([]byte{byte(i)})
			}
		},
		"json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusAccepted)
			write(w, `{"a": 1}`)
		},
		"no type wanted": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			write(w, "<html>")
		},
		"encoded": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "x-none")
			write(w, "<html>")
		},
		"204": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"204 with a body": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("204: got %v", err)
			}
		},
		"304": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.WriteHeader(http.StatusNotModified)
		},
		"a header too late": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Early", "1")
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Late", "1")
			w.Header().Set("X-Early", "2")
			write(w, "x")
		},
		"a header after the first write": func(w http.ResponseWriter, _ *http.Request) {
			write(w, "x")
			w.Header().Set("X-Late", "1")
		},
		"WriteHeader twice": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusTeapot)
			write(w, "x")
		},
		"WriteHeader after Write": func(w http.ResponseWriter, _ *http.Request) {
			write(w, "x")
			w.WriteHeader(http.StatusTeapot)
		},
		"a 103 before": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusCreated)
		},
		"values of one header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Link", "</1>")
			w.Header().Add("Link", "</2>")
			w.Header().Set("X-Latin", "\xe4")
			w.Header().Set("X-Line", "a\nb")
		},
		"cookies": func(w http.ResponseWriter, _ *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.SetCookie(w, &http.Cookie{Name: "c", Value: "d"})
		},
		"what is around": func(w http.ResponseWriter, _ *http.Request) {
			write(io.Discard, w.Header().Get("X-Around"))
			w.Header().Del("X-Removed")
		},
		"Content-Length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			write(w, "ok")
		},
		"beyond Content-Length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			write(w, "ok")
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrContentLength) {
				t.Errorf("beyond Content-Length: got %v", err)
			}
		},
		"http.Error":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusConflict) },
		"http.NotFound": http.NotFound,
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/", http.StatusSeeOther)
		},
		"io.Copy": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("copied")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, have := answer(t, handler), answer(t, recorded(t, handler))
			if !reflect.DeepEqual(want, have) {
				t.Errorf("net/http:\n%+v\nthrough the recorder:\n%+v", want, have)
			}
		})
	}
}

func TestRecorderRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write func(w http.ResponseWriter)
		want  error
	}{
		"less than Content-Length": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "3")
			_, _ = w.Write([]byte("ok"))
		}, errTooShort},
		"101": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusSwitchingProtocols) }, errSwitch},
		"above the most": {func(w http.ResponseWriter) {
			if _, err := w.Write(make([]byte, 11)); !errors.Is(err, errTooLarge) {
				t.Errorf("writing too much: %v", err)
			}
			if _, err := w.Write([]byte("x")); !errors.Is(err, errTooLarge) {
				t.Errorf("writing after too much: %v", err)
			}
		}, errTooLarge},
	} {
		rec := newRecorder(httptest.NewRecorder(), 10)
		c.write(rec)
		if _, err := rec.finish(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	twice := newRecorder(httptest.NewRecorder(), 0)
	twice.WriteHeader(http.StatusCreated)
	twice.WriteHeader(http.StatusOK)
	if !errors.Is(twice.fault, errTwice) {
		t.Errorf("WriteHeader twice: to be reported is %v", twice.fault)
	}
	defer func() {
		if recover() == nil {
			t.Error("WriteHeader(0) does not panic")
		}
	}()
	newRecorder(httptest.NewRecorder(), 0).WriteHeader(0)
}

func TestRecorderDropsTrailers(t *testing.T) {
	t.Parallel()
	rec := newRecorder(httptest.NewRecorder(), 0)
	rec.Header().Set("Trailer", "X-Sum")
	rec.Header().Set(http.TrailerPrefix+"X-Other", "1")
	p, err := rec.finish()
	if err != nil || len(p.header) != 1 || p.header.Get("Content-Length") != "0" {
		t.Errorf("got %v, %v", p, err)
	}
}

// Nothing may reach the client before COMMIT.
func TestRecorderCannotBeGoneAround(t *testing.T) {
	t.Parallel()
	_ = answer(t, func(w http.ResponseWriter, _ *http.Request) {
		rec := http.ResponseWriter(newRecorder(w, 0))
		if _, ok := rec.(http.Flusher); ok {
			t.Error("it is a Flusher")
		}
		if _, ok := rec.(http.Hijacker); ok {
			t.Error("it is a Hijacker")
		}
		if _, ok := rec.(io.ReaderFrom); ok {
			t.Error("it is a ReaderFrom")
		}
		if _, ok := rec.(interface{ Unwrap() http.ResponseWriter }); ok {
			t.Error("it can be unwrapped")
		}
		control := http.NewResponseController(rec)
		if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Flush: %v", err)
		}
		if err := control.EnableFullDuplex(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("EnableFullDuplex: %v", err)
		}
		later := time.Now().Add(time.Hour)
		if err := errors.Join(control.SetReadDeadline(later), control.SetWriteDeadline(later)); err != nil {
			t.Errorf("deadlines: %v", err)
		}
	})
}
