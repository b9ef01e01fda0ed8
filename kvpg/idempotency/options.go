package idempotency

import (
	"errors"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

const (
	// DefaultMaxBody is the most bytes that a request's body may have, where Options.MaxBody doesn't say otherwise: 1 MiB.
	DefaultMaxBody = 1 << 20

	// maxStored is the most that Once stores: status, headers and body together.
	maxStored = 48_000

	// maxRetention is the longest ttl of queen.kv, 100 years.
	maxRetention = 3_155_760_000 * time.Second
)

// Options are the options of [New]. The zero value is a good choice.
type Options struct {
	// Methods are those that need a key; every other goes to the handler untouched, without a transaction. nil means POST and
	// PATCH. New panics for GET, HEAD, OPTIONS and TRACE, which change nothing, for CONNECT, and for a name that is not in capitals.
	Methods []string

	// MaxBody is the most bytes that a request's body may have; a longer one is answered 413. It is read into memory before the handler
	// runs. 0 means [DefaultMaxBody].
	MaxBody int64

	// BareKeys accepts keys without quotes as well, as many clients send them: Idempotency-Key: 8e03978e-40d5-43e8-bc93-6894a57f9324
	// is then the same key as in quotes. Without it such a header is malformed, as the draft has it.
	BareKeys bool

	// Wait makes a duplicate wait for the first request to end, and then replay (or run, when the first rolled back), where it
	// would be told 409 at once. It waits as long as the request's context allows, and holds a connection of the database
	// meanwhile: a flood of duplicates can take the whole pool.
	Wait bool

	// Headers are names of response headers to store and replay, on top of those that always are: Cache-Control,
	// Content-Disposition, Content-Encoding, Content-Language, Content-Location, Content-Type, ETag, Last-Modified, Link, Location
	// and Vary. New panics for Set-Cookie, which is never stored: a cookie is a credential for the one who asked at that moment,
	// and would lie in a table for the whole retention, and log a session in again after its end.
	Headers []string

	// DropLargeBody changes what happens to a response above 48,000 bytes (status, stored headers and body together). Without it
	// the request fails with 500, is rolled back, and OnError says why: a handler whose answer can't be replayed is a fault to be
	// seen before a retry meets it. With it the response is sent and the effect committed, but the body is not stored, and a replay
	// is a 410 problem (CodeResponseNotKept) with the stored headers but those of the body, and the first status in its body.
	DropLargeBody bool

	// Store tells which statuses are committed and stored; the others are rolled back, and sent as they are. nil means 200 to
	// 499. A handler that answers 429 for a limit of its own, say, can have it rolled back here, so that a later retry runs.
	Store func(status int) bool

	// OnError gets what went wrong on the server's side: errors of the database, of Scope and of the handler's Fail, responses
	// that can't be stored, clients that went away. nil logs them where net/http does: to the ErrorLog of the http.Server, or else with
	// package log. Duplicates and malformed requests are no errors.
	OnError func(r *http.Request, err error)

	// Respond sends the middleware's own answers, for an API with errors in a form of its own, or with pages that its
	// problems' types lead to:
	//
	//	Respond: func(w http.ResponseWriter, r *http.Request, p idempotency.Problem) error {
	//		p.Type = "https://api.example.com/problems/" + p.Code
	//		return p.Write(w)
	//	},
	//
	// nil means p.Write(w): application/problem+json.
	Respond func(w http.ResponseWriter, r *http.Request, p Problem) error
}

// storedHeaders are the response headers that describe the outcome, and not the moment or the connection.
var storedHeaders = []string{
	"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location", "Content-Type",
	"Etag", "Last-Modified", "Link", "Location", "Vary",
}

// settings are the arguments of New, checked and with their defaults.
type settings struct {
	Options
	ns        kvpg.Namespace
	retention time.Duration
	scope     func(*http.Request) (string, error)
	stored    map[string]bool // headers, by their canonical names
}

func newSettings(ns kvpg.Namespace, retention time.Duration, scope func(*http.Request) (string, error), opts *Options) (*settings, error) {
	s := &settings{ns: ns, retention: retention, scope: scope, stored: map[string]bool{}}
	if opts != nil {
		s.Options = *opts
	}
	s.Methods = slices.Clone(s.Methods)
	switch {
	case ns.Name() == "":
		return nil, errors.New("the zero Namespace")
	case retention <= 0 || retention > maxRetention:
		return nil, errors.New("a retention that is not above zero, or above 100 years")
	case scope == nil:
		return nil, errors.New("no scope: without the principal one user would be shown another's answer")
	case s.MaxBody < 0:
		return nil, errors.New("a MaxBody below zero")
	}
	for _, method := range s.Methods {
		if method != strings.ToUpper(method) { // no request would match it, and run unprotected
			return nil, errors.New("the method " + method + ", which requests have in capitals")
		}
		switch method {
		case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
			return nil, errors.New("the method " + method)
		}
	}
	for _, name := range slices.Concat(storedHeaders, s.Headers) {
		name = http.CanonicalHeaderKey(name)
		switch name {
		case "Set-Cookie", "Content-Length", "Transfer-Encoding", "Trailer", replayedHeader:
			return nil, errors.New("the header " + name + ", which can't be stored")
		}
		s.stored[name] = true
	}
	s.defaults()
	return s, nil
}

func (s *settings) defaults() {
	if s.Methods == nil {
		s.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	if s.MaxBody == 0 {
		s.MaxBody = DefaultMaxBody
	}
	if s.Store == nil {
		s.Store = func(status int) bool { return status >= 200 && status <= 499 }
	}
	if s.OnError == nil {
		s.OnError = logError
	}
	if s.Respond == nil {
		s.Respond = func(w http.ResponseWriter, _ *http.Request, p Problem) error { return p.Write(w) }
	}
}

// logError logs where net/http logs the panics of handlers.
func logError(r *http.Request, err error) {
	printf := log.Printf
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ErrorLog != nil {
		printf = server.ErrorLog.Printf
	}
	printf("%s %s: %v", r.Method, r.URL.Path, err)
}
