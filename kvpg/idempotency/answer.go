package idempotency

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/internal/network"
	"github.com/queenkv/queenkv/kvpg/internal/sqlstate"
)

// replay answers with what is stored.
func (s *settings) replay(w http.ResponseWriter, r *http.Request, stored []byte) {
	p, err := decode(stored)
	switch {
	case err != nil:
		s.fail(w, r, nil, err)
	case p.dropped:
		maps.DeleteFunc(p.header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Content-") })
		maps.Copy(w.Header(), p.header)
		w.Header().Set(replayedHeader, "true")
		problem := newProblem(CodeResponseNotKept, "The request was done before; its response was too large to be kept.")
		problem.OriginalStatus = p.status
		s.respond(w, r, problem)
	default:
		s.report(r, "sending the response", p.replay(w))
	}
}

// fail answers a request that came to neither a response of the handler nor a stored one.
func (s *settings) fail(w http.ResponseWriter, r *http.Request, first *response, err error) {
	problem := problemOf(err)
	switch problem.Code {
	case CodeKeyInFlight, CodeKeyReused: // outcomes, not errors
	default:
		if first != nil && sqlstate.Any(err, func(state string) bool { return state == "25P02" }) {
			err = fmt.Errorf("the handler answered %d in a transaction that an error had aborted (give such errors to Fail, "+
				"or run what may fail in a savepoint): %w", first.status, err)
		}
		s.report(r, "the request was not done", err)
		if first != nil && first.status >= 500 && problem.Code == CodeInternal {
			s.report(r, "sending the response", first.send(w))
			return
		}
	}
	s.respond(w, r, problem)
}

// problemOf tells the client about an error as much as helps it, and nothing of the database.
func problemOf(err error) Problem {
	var ofHandler handlerFailure
	own := !errors.As(err, &ofHandler) // what a Once of the handler's says is about another key
	switch {
	case own && errors.Is(err, kvpg.ErrOnceBusy):
		return newProblem(CodeKeyInFlight, "A request with this Idempotency-Key is still running.")
	case own && errors.Is(err, kvpg.ErrOnceMismatch):
		return newProblem(CodeKeyReused, "This Idempotency-Key came before, with another method, path, query or body.")
	case errors.Is(err, kvpg.ErrCommitUnknown):
		return newProblem(CodeOutcomeUnknown, "Whether the request was done is not known. Send it again with the same Idempotency-Key.")
	case isOutage(err):
		return newProblem(CodeUnavailable, "The request was not done. Send it again with the same Idempotency-Key.")
	}
	for _, untold := range []error{errNotOurs, kvpg.ErrOnceUnfinished, kvpg.ErrOnceForeign, kvpg.ErrOnceStoredError} {
		if own && errors.Is(err, untold) {
			return newProblem(CodeInternal, "The outcome of an earlier request with this Idempotency-Key can't be told.")
		}
	}
	return newProblem(CodeInternal, "The request was not done.")
}

// isOutage: the database could not be reached, or asks to come again: what another try may heal.
func isOutage(err error) bool {
	var unbegun noBegin
	if kvpg.IsRetryable(err) || errors.As(err, &unbegun) || network.Is(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) {
		return true
	}
	return sqlstate.Any(err, func(state string) bool {
		return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "53") || strings.HasPrefix(state, "57P")
	})
}

// respond sends an answer of the middleware's own.
func (s *settings) respond(w http.ResponseWriter, r *http.Request, p Problem) {
	s.report(r, "sending the response", s.Respond(w, r, p))
}

// report gives an error to OnError, and nothing when there is none.
func (s *settings) report(r *http.Request, doing string, err error) {
	if err != nil {
		s.OnError(r, fmt.Errorf("idempotency: %s: %w", doing, err))
	}
}
