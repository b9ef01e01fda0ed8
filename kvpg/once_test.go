package kvpg

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// fakeTx records what Once does to a transaction.
type fakeTx struct {
	fakeDB
	exec       func(sql string) error // nil: nothing may come
	rolledBack int
}

func (tx *fakeTx) Exec(_ context.Context, sql string, _ ...any) (pgconn.CommandTag, error) {
	if tx.exec == nil {
		return pgconn.CommandTag{}, errors.New("unexpected: " + sql)
	}
	return pgconn.CommandTag{}, tx.exec(sql)
}

func (tx *fakeTx) Commit(context.Context) error { return errors.New("Once must not commit") }

func (tx *fakeTx) Rollback(ctx context.Context) error {
	tx.rolledBack++
	return ctx.Err()
}

// onceServer plays begin with state run, and end as the test says.
type onceServer struct {
	tokens   []int64                                      // of the calls of end
	end      func(ctx context.Context, token int64) error // nil: as the contract says
	deadline bool
}

func (s *onceServer) tx(t *testing.T) *fakeTx {
	return &fakeTx{fakeDB: func(ctx context.Context, sql string, args, dest []any) error {
		switch {
		case strings.Contains(sql, "kv_once_begin_v1"):
			token := int64(42)
			*dest[0].(*string), *dest[1].(**int64) = "run", &token
			return nil
		case strings.Contains(sql, "kv_once_end_v1"):
			token := args[2].(int64)
			s.tokens = append(s.tokens, token)
			_, s.deadline = ctx.Deadline()
			if s.end != nil {
				return s.end(ctx, token)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if token != 42 {
				return &pgconn.PgError{Code: "55000", Message: "kv_once_lost"}
			}
			return nil
		}
		t.Errorf("unexpected: %s", sql)
		return nil
	}}
}

func TestOnceFailureAbortsTheTransaction(t *testing.T) {
	t.Parallel()
	s := &onceServer{}
	tx := s.tx(t)
	ctx, cancel := context.WithCancel(context.Background())
	failure := errors.New("the effect failed")
	_, err := Once(ctx, tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
		cancel() // the caller's context is gone, and the abort must be sent all the same
		return nil, failure
	}, nil)
	if !errors.Is(err, failure) || err.Error() != failure.Error() {
		t.Errorf("got %v, want the function's own error", err)
	}
	if len(s.tokens) != 1 || s.tokens[0] != 0 || !s.deadline {
		t.Errorf("tokens %v, deadline %v: want one call with token 0 and a deadline", s.tokens, s.deadline)
	}
	if tx.rolledBack != 0 {
		t.Error("rolled back, though the server raised")
	}
}

func TestOncePanicAbortsTheTransaction(t *testing.T) {
	t.Parallel()
	s := &onceServer{}
	tx := s.tx(t)
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v, want the function's own panic", got)
			}
		}()
		_, _ = Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) { panic("boom") }, nil)
	}()
	if len(s.tokens) != 1 || s.tokens[0] != 0 {
		t.Errorf("tokens %v: want one call with token 0", s.tokens)
	}
}

// A context that ends after fn and before end is met by pgx before anything is sent: the transaction would still commit,
// with the effect and a pending marker.
func TestOnceContextEndsBeforeTheResultIsStored(t *testing.T) {
	t.Parallel()
	s := &onceServer{}
	tx := s.tx(t)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Once(ctx, tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
		cancel()
		return []byte("done"), nil
	}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if len(s.tokens) != 2 || s.tokens[1] != 0 {
		t.Errorf("tokens %v: want the abort after the failed end", s.tokens)
	}
}

func TestOnceRollsBackWhenTheServerCannotBeAsked(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"conn busy": errors.New("conn busy"), "no error at all": nil} {
		s := &onceServer{end: func(context.Context, int64) error { return answer }}
		tx := s.tx(t)
		_, err := Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
			return nil, context.DeadlineExceeded
		}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || tx.rolledBack != 1 {
			t.Errorf("%s: got %v and %d rollbacks, want the function's error and one", name, err, tx.rolledBack)
		}
	}
}

func TestOnceStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]error{
		"busy": ErrOnceBusy, "mismatch": ErrOnceMismatch, "unfinished": ErrOnceUnfinished, "reentry": ErrOnceReentry, "foreign": ErrOnceForeign,
		"of a later release": nil,
	} {
		tx := &fakeTx{fakeDB: func(_ context.Context, _ string, _, dest []any) error {
			*dest[0].(*string) = state
			return nil
		}}
		_, err := Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
			t.Errorf("%s: the function ran", state)
			return nil, nil
		}, nil)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", state, err, want)
		}
	}
}

func TestOnceReplay(t *testing.T) {
	t.Parallel()
	for _, isError := range []bool{false, true} {
		tx := &fakeTx{fakeDB: func(_ context.Context, _ string, _, dest []any) error {
			stored := "AP8K\n" // PostgreSQL breaks long base64 into lines
			*dest[0].(*string), *dest[2].(**string), *dest[3].(**bool) = "replay", &stored, &isError
			return nil
		}}
		r, err := Once(context.Background(), tx, ns, "k", time.Hour, nil, nil)
		if !isError && (err != nil || string(r.Result) != "\x00\xff\n" || !r.Replayed || r.Discarded) {
			t.Errorf("got %+v, %v", r, err)
		}
		var e *OnceStoredError
		if isError && (!errors.As(err, &e) || !errors.Is(err, ErrOnceStoredError) || string(e.Stored) != "\x00\xff\n" || !e.Replayed) {
			t.Errorf("stored error: got %v", err)
		}
	}
}

// Where begin gave no answer nobody knows whether the marker is there. Committed alone, it would make the key unfinished.
func TestOnceBeginWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer error
		tokens int // calls of end
	}{
		"context ended": {context.DeadlineExceeded, 1}, "broken": {io.ErrUnexpectedEOF, 1},
		"the server raised": {&pgconn.PgError{Code: "55P03"}, 0}, // and has aborted the transaction
	} {
		s := &onceServer{}
		tx := s.tx(t)
		server := tx.fakeDB
		tx.fakeDB = func(ctx context.Context, sql string, args, dest []any) error {
			if strings.Contains(sql, "kv_once_begin_v1") {
				return c.answer
			}
			return server(ctx, sql, args, dest)
		}
		_, err := Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
			t.Errorf("%s: the function ran", name)
			return nil, nil
		}, nil)
		if !errors.Is(err, c.answer) || len(s.tokens) != c.tokens || c.tokens == 1 && s.tokens[0] != 0 {
			t.Errorf("%s: got %v and tokens %v, want %d calls with token 0", name, err, s.tokens, c.tokens)
		}
	}
}

// A context that has ended before Once is called costs the transaction nothing.
func TestOnceOfAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tx := &fakeTx{fakeDB: silent(t)}
	if _, err := Once(ctx, tx, ns, "k", time.Hour, nil, nil); !errors.Is(err, context.Canceled) || tx.rolledBack != 0 {
		t.Errorf("got %v and %d rollbacks", err, tx.rolledBack)
	}
}

// runtime.Goexit, which a test's FailNow calls, is no panic that could be recovered, and leaves the function all the same.
func TestOnceGoexitAbortsTheTransaction(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*OnceOptions{
		"plain": nil, "in a savepoint": {StoreError: func(error) ([]byte, bool) { return nil, true }},
	} {
		s := &onceServer{}
		tx := s.tx(t)
		tx.exec = func(string) error { return nil }
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
				runtime.Goexit()
				return nil, nil
			}, opts)
			t.Errorf("%s: Once returned", name)
		}()
		<-ended
		if len(s.tokens) != 1 || s.tokens[0] != 0 {
			t.Errorf("%s: tokens %v: want one call with token 0", name, s.tokens)
		}
	}
}
