package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// New makes the middleware:
//
//	idempotent := idempotency.New(pool, requests, 24*time.Hour, principal, nil)
//	mux.Handle("POST /payments", idempotent(http.HandlerFunc(createPayment)))
//
// db is what begins the transactions: a *pgxpool.Pool, kvpg.FromSQL(db) of a *sql.DB, or a [kvpg.BeginFunc] for transactions with
// options. A connection serves one request at a time, so that it has to be a pool.
//
// ns holds the keys. Two APIs with a namespace each don't share them; a tenant's own namespace ([kvpg.Namespace.For]) needs a
// middleware of its own, which is cheap to make.
//
// retention is how long a key is remembered, from the moment its request began: at least as long as any client goes on retrying,
// at most 100 years. Publish it. Afterwards the key is new, and its request runs again.
//
// scope gives the authenticated principal: an account, a tenant and a user, whoever must not see another's answers. It is part
// of the key, so that two principals with one key and one body are two effects. It must come from what was authenticated, never
// from what the client claims. An error, and an empty principal too, is answered 500 and given to OnError: whoever turns away
// clients that are not authenticated, with 401, stands before this middleware.
//
// New panics when a mandatory argument is missing or an option can't be: that is a mistake in the program.
func New[T kvpg.Tx](db kvpg.Beginner[T], ns kvpg.Namespace, retention time.Duration,
	scope func(*http.Request) (string, error), opts *Options,
) func(http.Handler) http.Handler {
	s, err := newSettings(ns, retention, scope, opts)
	if _, open := db.(kvpg.Tx); err == nil && (open || db == nil) {
		err = errors.New("no database that begins transactions")
	}
	if err != nil {
		panic("idempotency: New was given " + err.Error())
	}
	return func(next http.Handler) http.Handler {
		return &handler[T]{settings: s, db: begin(db), next: next}
	}
}

// noBegin marks the errors of a transaction that did not begin.
type noBegin struct{ error }

func (e noBegin) Unwrap() error { return e.error }

func begin[T kvpg.Tx](db kvpg.Beginner[T]) kvpg.Beginner[T] {
	return kvpg.BeginFunc[T](func(ctx context.Context) (T, error) {
		tx, err := db.Begin(ctx)
		if err != nil {
			return tx, noBegin{err}
		}
		return tx, nil
	})
}

type handler[T kvpg.Tx] struct {
	*settings
	db   kvpg.Beginner[T]
	next http.Handler
}

func (h *handler[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(h.Methods, r.Method) {
		h.next.ServeHTTP(w, r)
		return
	}
	key, body, refusal := h.read(w, r)
	if refusal != nil {
		h.respond(w, r, *refusal)
		return
	}
	var first *response // of the last run
	done, err := kvpg.OnceTx(r.Context(), h.db, h.ns, key, h.retention, func(ctx context.Context, tx T) (stored []byte, err error) {
		first, stored, err = h.run(ctx, tx, w, r, body)
		return stored, err
	}, &kvpg.OnceOptions{Fingerprint: fingerprint(r, body), Busy: !h.Wait})
	switch {
	case err == nil && done.Replayed:
		h.replay(w, r, done.Result)
	case err == nil, errors.Is(err, errNotStored): // committed, or rolled back because of what it says
		h.report(r, "sending the response", first.send(w))
	default:
		h.fail(w, r, first, err)
	}
}

// read gives the key under which the request is remembered and its whole body, or what the client is told instead.
func (h *handler[T]) read(w http.ResponseWriter, r *http.Request) (key string, body []byte, refusal *Problem) {
	refuse := func(code, detail string) (string, []byte, *Problem) {
		p := newProblem(code, detail)
		return "", nil, &p
	}
	if callOf(r.Context()) != nil {
		h.OnError(r, errors.New("idempotency: the middleware is around itself"))
		return refuse(CodeInternal, "The server is set up wrongly.")
	}
	sent, err := parseKey(r.Header.Values(keyHeader), h.BareKeys)
	switch {
	case errors.Is(err, errNoKey):
		return refuse(CodeKeyMissing, "This operation needs an Idempotency-Key header.")
	case err != nil:
		return refuse(CodeKeyMalformed, "The Idempotency-Key header must be a string in double quotes: "+err.Error()+".")
	}
	scope, err := h.scope(r)
	if err == nil && scope == "" {
		err = errors.New("an empty principal")
	}
	if err != nil {
		h.report(r, "the request's scope", err)
		return refuse(CodeInternal, "The request could not be attributed to anybody.")
	}
	body, err = readBody(w, r, h.MaxBody)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return refuse(CodeBodyTooLarge, fmt.Sprintf("The body must be at most %d bytes.", tooLarge.Limit))
	case err != nil:
		h.report(r, "reading the request's body", err)
		return refuse(CodeBodyUnreadable, "The body could not be read to its end.")
	case wasReadBefore(r, body):
		h.OnError(r, errors.New("idempotency: what is around the middleware has read the request's body, or part of it, and not put it back: "+
			"requests with different bodies could not be told apart (if it has replaced the body, let it set ContentLength, or -1)"))
		return refuse(CodeInternal, "The server is set up wrongly.")
	}
	return storedKey(scope, sent), body, nil
}

func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > most { // nothing is read: a client that sent Expect: 100-continue doesn't send it
		return nil, &http.MaxBytesError{Limit: most}
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, most))
}

// wasReadBefore: there was more of a body than is left. Of one that came without a length (chunked) nobody can tell. ParseForm and
// ParseMultipartForm take it away, too.
func wasReadBefore(r *http.Request, body []byte) bool {
	return int64(len(body)) < r.ContentLength || len(body) == 0 && (len(r.PostForm) > 0 || r.MultipartForm != nil)
}

// errNotStored ends the transaction of a response that is sent but not stored.
var errNotStored = errors.New("the handler's status is one that rolls back")

// run runs the handler in a transaction. Each run has a request, a body and a recorder of its own.
func (h *handler[T]) run(ctx context.Context, tx T, w http.ResponseWriter, r *http.Request, body []byte) (*response, []byte, error) {
	c := &call{tx: tx}
	again := r.Clone(context.WithValue(ctx, callKey{}, c))
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	again.TransferEncoding = nil
	defer func() { // net/http removes the files of the request that it knows
		if again.MultipartForm != nil && r.MultipartForm == nil {
			h.report(r, "removing the files of a form", again.MultipartForm.RemoveAll())
		}
	}()
	most := maxStored
	if h.DropLargeBody {
		most = 0
	}
	rec := newRecorder(w, most)
	h.next.ServeHTTP(rec, again)

	p, err := rec.finish()
	h.report(r, "the handler", rec.fault)
	switch {
	case c.failed != nil:
		return p, nil, handlerFailure{c.failed}
	case err != nil:
		return nil, nil, err
	case !h.Store(p.status):
		return p, nil, errNotStored
	}
	stored, err := h.encode(p)
	return p, stored, err
}

// encode gives what is stored of a response.
func (h *handler[T]) encode(p *response) ([]byte, error) {
	kept := p.keep(h.stored)
	stored := kept.encode()
	if len(stored) > maxStored && h.DropLargeBody {
		kept.dropped = true
		stored = kept.encode()
	}
	if len(stored) > maxStored {
		return nil, errTooLarge
	}
	return stored, nil
}
