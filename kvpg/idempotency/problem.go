package idempotency

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Problem is an answer of the middleware's own, in the form of RFC 9457.
type Problem struct {
	Type   string `json:"type,omitempty"` // a URI; empty means about:blank
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // for people; it shows nothing of the database and nobody else's request

	// Code is for programs, one of the Code constants. RFC 9457 calls such a member an extension.
	Code string `json:"code"`

	// OriginalStatus is the status of the first answer, in a [CodeResponseNotKept].
	OriginalStatus int `json:"originalStatus,omitempty"`

	// RetryAfter, in seconds, is the Retry-After header; 0 is none.
	RetryAfter int `json:"-"`
}

// The codes of problems, with their statuses.
const (
	CodeKeyMissing      = "idempotency-key-missing"   // 400
	CodeKeyMalformed    = "idempotency-key-malformed" // 400
	CodeKeyInFlight     = "idempotency-key-in-flight" // 409: the first request is still running; retry
	CodeResponseNotKept = "response-not-kept"         // 410: it was done, and the answer was too large to keep (DropLargeBody)
	CodeBodyTooLarge    = "request-body-too-large"    // 413
	CodeBodyUnreadable  = "request-body-unreadable"   // 400: the client broke off, or was too slow
	CodeKeyReused       = "idempotency-key-reused"    // 422: the key came before with another method, path, query or body
	CodeInternal        = "internal-error"            // 500: this request did nothing; OnError knows why
	CodeUnavailable     = "unavailable"               // 503: nothing was done; retry
	CodeOutcomeUnknown  = "outcome-unknown"           // 503: the connection was lost during COMMIT; retry with the same key
)

// statuses gives the status of each code.
var statuses = map[string]int{
	CodeKeyMissing:      http.StatusBadRequest,
	CodeKeyMalformed:    http.StatusBadRequest,
	CodeKeyInFlight:     http.StatusConflict,
	CodeResponseNotKept: http.StatusGone,
	CodeBodyTooLarge:    http.StatusRequestEntityTooLarge,
	CodeBodyUnreadable:  http.StatusBadRequest,
	CodeKeyReused:       http.StatusUnprocessableEntity,
	CodeInternal:        http.StatusInternalServerError,
	CodeUnavailable:     http.StatusServiceUnavailable,
	CodeOutcomeUnknown:  http.StatusServiceUnavailable,
}

// retryAfter is for those that a retry with the same key will get past, in seconds: the least that the header can say.
var retryAfter = map[string]int{CodeKeyInFlight: 1, CodeUnavailable: 1, CodeOutcomeUnknown: 1}

func newProblem(code, detail string) Problem {
	return Problem{
		Title: http.StatusText(statuses[code]), Status: statuses[code], Detail: detail, Code: code, RetryAfter: retryAfter[code],
	}
}

// Write sends the problem as application/problem+json. Headers that w already has stay, but those of a body.
func (p Problem) Write(w http.ResponseWriter) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	body = append(body, '\n')
	h := w.Header()
	for _, name := range []string{"Content-Encoding", "ETag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, err = w.Write(body)
	return err
}
