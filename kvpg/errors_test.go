package kvpg

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A test of a caller's own makes such errors from their exported fields, and asks them as it would ask the driver's.
func TestErrorsThatCallersMake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code Code // "" for none
	}{
		"Error":                {&Error{}, ""},
		"Error with a code":    {&Error{Code: ErrBadKey}, ErrBadKey},
		"PreconditionError":    {&PreconditionError{Reason: ReasonExists}, ErrPreconditionFailed},
		"OnceStoredError":      {&OnceStoredError{Stored: []byte("no")}, ErrOnceStoredError},
		"a wrapped one":        {fmt.Errorf("mine: %w", &PreconditionError{}), ErrPreconditionFailed},
		"one that was joined ": {errors.Join(errors.New("mine"), &PreconditionError{}), ErrPreconditionFailed},
	} {
		for _, code := range []Code{ErrBadKey, ErrPreconditionFailed, ErrOnceStoredError, ErrCommitUnknown} {
			if got := errors.Is(c.err, code); got != (code == c.code) {
				t.Errorf("%s is %s: %v", name, code, got)
			}
		}
		var pg *pgconn.PgError
		if c.err.Error() == "" || IsRetryable(c.err) || errors.As(c.err, &pg) {
			t.Errorf("%s: %q, retryable %v, PostgreSQL's %v", name, c.err, IsRetryable(c.err), pg)
		}
	}
}

// What a transaction met says whether to run it again, wherever in an error it stands.
func TestIsRetryableLooksAtAllErrors(t *testing.T) {
	t.Parallel()
	unique, deadlock := &pgconn.PgError{Code: "23505"}, &pgconn.PgError{Code: "40P01"}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"alone":              {deadlock, true},
		"joined, the first":  {errors.Join(deadlock, unique), true},
		"joined, the second": {errors.Join(unique, deadlock), true},
		"wrapped twice":      {fmt.Errorf("%w; then %w", &Error{SQLState: "23505", cause: unique}, fmt.Errorf("in fn: %w", deadlock)), true},
		"another":            {errors.Join(unique, errors.New("40P01")), false},
		"nothing":            {nil, false},
	} {
		if got := IsRetryable(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
