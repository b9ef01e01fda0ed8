package idempotency

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var (
	errTooLarge = errors.New("the response is too large to be stored, and Options.DropLargeBody is not set: " +
		"status, headers and body may take 48,000 bytes together")
	errTooShort = errors.New("the handler wrote less than the Content-Length it declared")
	errSwitch   = errors.New("the handler answered 101 Switching Protocols, which can't be stored")
	errTwice    = errors.New("superfluous WriteHeader call")
)

// A recorder is the http.ResponseWriter of one run of the handler. It behaves as net/http's does, and keeps what that would
// send. It can't flush, be hijacked or unwrapped: nothing reaches the client before COMMIT.
type recorder struct {
	under http.ResponseWriter
	most  int // bytes of body that are kept; 0 is no limit

	header   http.Header
	status   int         // 0 until the header is written
	written  http.Header // a copy of header from that moment: what comes later is not sent
	declared int64       // the Content-Length that the handler set, or -1
	length   int64       // of what the handler wrote
	body     []byte
	overflow bool
	fault    error // the first misuse
}

// newRecorder begins with the headers that are set already, by what is around the middleware; the handler may change them.
func newRecorder(under http.ResponseWriter, most int) *recorder {
	header := under.Header().Clone()
	if header == nil {
		header = http.Header{}
	}
	return &recorder{under: under, most: most, header: header, declared: -1}
}

func (rec *recorder) Header() http.Header { return rec.header }

// WriteHeader keeps the first final status. An informational one (1xx) is dropped.
func (rec *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", status)) // as net/http does
	}
	if rec.status != 0 {
		rec.misuse(errTwice)
		return
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	rec.status = status
	if length := rec.header.Get("Content-Length"); length != "" {
		if n, err := strconv.ParseInt(length, 10, 64); err == nil && n >= 0 {
			rec.declared = n
		} else {
			rec.header.Del("Content-Length")
		}
	}
	rec.written = rec.header.Clone()
}

func (rec *recorder) misuse(err error) {
	if rec.fault == nil {
		rec.fault = err
	}
}

func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !bodyAllowed(rec.status) {
		return 0, http.ErrBodyNotAllowed
	}
	rec.length += int64(len(p))
	switch {
	case rec.declared >= 0 && rec.length > rec.declared:
		return 0, http.ErrContentLength
	case rec.overflow || rec.most > 0 && rec.length > int64(rec.most):
		rec.overflow, rec.body = true, nil
		return 0, errTooLarge
	}
	rec.body = append(rec.body, p...)
	return len(p), nil
}

// SetReadDeadline is what http.ResponseController calls; it sets the connection's.
func (rec *recorder) SetReadDeadline(t time.Time) error {
	return http.NewResponseController(rec.under).SetReadDeadline(t)
}

// SetWriteDeadline sets the connection's, for the response that is sent after COMMIT.
func (rec *recorder) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(rec.under).SetWriteDeadline(t)
}

// finish gives the response, once the handler has returned, or says why there is none that could be stored.
func (rec *recorder) finish() (*response, error) {
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
	}
	allowed := bodyAllowed(rec.status)
	switch {
	case rec.status == http.StatusSwitchingProtocols:
		return nil, errSwitch
	case rec.overflow:
		return nil, errTooLarge
	case allowed && rec.declared >= 0 && rec.length < rec.declared:
		return nil, errTooShort
	}
	h := rec.written
	for name := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			delete(h, name)
		}
	}
	h.Del("Trailer") // no trailer is kept, so none is announced
	h.Del("Transfer-Encoding")
	if allowed {
		rec.describe(h)
	}
	return &response{status: rec.status, header: h, body: rec.body}, nil
}

// describe sets what net/http would find out about a body.
func (rec *recorder) describe(h http.Header) {
	if _, ok := h["Content-Type"]; !ok && h.Get("Content-Encoding") == "" && len(rec.body) > 0 {
		h.Set("Content-Type", http.DetectContentType(rec.body))
	}
	h.Set("Content-Length", strconv.Itoa(len(rec.body)))
}

// bodyAllowed tells whether a response of the status may have a body (RFC 9110).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
