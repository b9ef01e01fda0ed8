package kvpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sentBy gives what Once sends, in order: begin and end with their arguments, statements as they are.
func sentBy(t *testing.T, opts *OnceOptions, fn func(context.Context) ([]byte, error), refuse string) (sent []string, result OnceResult, err error) {
	t.Helper()
	tx := &fakeTx{}
	tx.fakeDB = func(_ context.Context, sql string, args, dest []any) error {
		if strings.Contains(sql, "kv_once_begin_v1") {
			sent = append(sent, fmt.Sprintf("begin wait=%v", args[4]))
			token := int64(42)
			*dest[0].(*string), *dest[1].(**int64) = "run", &token
			return nil
		}
		sent = append(sent, fmt.Sprintf("end token=%v result=%v error=%v", args[2], args[3], args[4]))
		if args[2].(int64) != 42 {
			return &pgconn.PgError{Code: "55000", Message: "kv_once_lost"}
		}
		return nil
	}
	tx.exec = func(sql string) error {
		sent = append(sent, sql)
		if sql == refuse {
			return errors.New("the server can't do that")
		}
		return nil
	}
	result, err = Once(context.Background(), tx, ns, "k", time.Hour, fn, opts)
	return sent, result, err
}

func TestOnceOptionsAreSent(t *testing.T) {
	t.Parallel()
	fn := func(context.Context) ([]byte, error) { return []byte("done"), nil }
	for _, c := range []struct {
		opts *OnceOptions
		want []string
	}{
		{nil, []string{"begin wait=true", "end token=42 result=ZG9uZQ== error=false"}},
		{&OnceOptions{Busy: true}, []string{"begin wait=false", "end token=42 result=ZG9uZQ== error=false"}},
		{&OnceOptions{DiscardResult: true}, []string{"begin wait=true", "end token=42 result=<nil> error=false"}},
		{&OnceOptions{StoreError: func(error) ([]byte, bool) { return nil, true }}, []string{
			"begin wait=true", "savepoint kvpg_once_42", "release savepoint kvpg_once_42", "end token=42 result=ZG9uZQ== error=false",
		}},
	} {
		sent, r, err := sentBy(t, c.opts, fn, "")
		if !slices.Equal(sent, c.want) || err != nil || string(r.Result) != "done" || r.Replayed || r.Discarded {
			t.Errorf("%+v: got %+v, %v and sent\n%q, want\n%q", c.opts, r, err, sent, c.want)
		}
	}
}

func TestOnceStoresAnError(t *testing.T) {
	t.Parallel()
	declined := errors.New("declined")
	fn := func(context.Context) ([]byte, error) { return []byte("half"), declined }
	opts := &OnceOptions{DiscardResult: true, StoreError: func(err error) ([]byte, bool) { return []byte(err.Error()), true }}
	sent, r, err := sentBy(t, opts, fn, "")
	want := []string{
		"begin wait=true", "savepoint kvpg_once_42", "rollback to savepoint kvpg_once_42", "release savepoint kvpg_once_42",
		"end token=42 result=ZGVjbGluZWQ= error=true",
	}
	if !slices.Equal(sent, want) {
		t.Errorf("sent\n%q, want\n%q", sent, want)
	}
	var e *OnceStoredError
	if !errors.As(err, &e) || string(e.Stored) != "declined" || e.Replayed || !errors.Is(err, declined) || !errors.Is(err, ErrOnceStoredError) {
		t.Errorf("got %v", err)
	}
	if r.Result != nil || r.Replayed {
		t.Errorf("a result beside the error: %+v", r)
	}
	if text := err.Error(); text != "kvpg: kv_once_stored_error: the error is stored: declined" {
		t.Errorf("got %q", text)
	}
}

// An error that can't be undone, or is not taken, fails as without the option.
func TestOnceStoresNothing(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	fn := func(context.Context) ([]byte, error) { return nil, failure }
	abort := "end token=0 result= error=false"
	for _, c := range []struct {
		what   string
		take   bool
		refuse string
		want   []string
	}{
		{"not taken", false, "", []string{"begin wait=true", "savepoint kvpg_once_42", abort}},
		{
			"not undone", true, "rollback to savepoint kvpg_once_42",
			[]string{"begin wait=true", "savepoint kvpg_once_42", "rollback to savepoint kvpg_once_42", abort},
		},
	} {
		opts := &OnceOptions{StoreError: func(error) ([]byte, bool) { return nil, c.take }}
		sent, _, err := sentBy(t, opts, fn, c.refuse)
		if !slices.Equal(sent, c.want) || !errors.Is(err, failure) || errors.Is(err, ErrOnceStoredError) {
			t.Errorf("%s: got %v and sent\n%q, want\n%q", c.what, err, sent, c.want)
		}
	}
}

func TestOnceNeverStored(t *testing.T) {
	t.Parallel()
	refused, err := net.Dial("tcp", "127.0.0.1:1")
	if err == nil {
		_ = refused.Close()
		t.Fatal("something listens on port 1")
	}
	never := map[string]error{
		"cancelled": context.Canceled, "deadline": fmt.Errorf("calling: %w", context.DeadlineExceeded),
		"no connection": err, "broken": fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), "never sent": neverSent{},
		"busy": onceRefusal("busy"), "commit unknown": &Error{Code: ErrCommitUnknown, cause: pgx.ErrTxClosed},
		"lease lost": &Error{Code: ErrLeaseLost, SQLState: "55000"}, "no connection made": unmade(t),
	}
	never["joined to an error of its own"] = errors.Join(&pgconn.PgError{Code: "23505"}, &pgconn.PgError{Code: "40001"})
	for _, state := range []string{"40001", "40P01", "55P03", "57014", "25P02", "25P03", "08006", "08P01", "57P01", "57P02", "57P03", "57P05", "53300", "53100", "53200"} {
		never[state] = otherDriver{state, "raised"}
		never[state+", wrapped"] = fmt.Errorf("in the effect: %w", &Error{SQLState: state, cause: &pgconn.PgError{Code: state}})
	}
	for name, failure := range never {
		opts := &OnceOptions{StoreError: func(error) ([]byte, bool) {
			t.Errorf("%s: StoreError was asked", name)
			return nil, true
		}}
		sent, _, err := sentBy(t, opts, func(context.Context) ([]byte, error) { return nil, failure }, "")
		if len(sent) != 3 || !strings.HasPrefix(sent[2], "end token=0 ") || !errors.Is(err, failure) || errors.Is(err, ErrOnceStoredError) {
			t.Errorf("%s: got %v and sent %q", name, err, sent)
		}
	}
	for name, failure := range map[string]error{
		"unique": otherDriver{"23505", "raised"}, "division": &pgconn.PgError{Code: "22012"}, "plain": errors.New("no"), "EOF": io.EOF,
		"no file": &fs.PathError{Op: "open", Path: "f", Err: syscall.ENOENT},
	} {
		opts := &OnceOptions{StoreError: func(error) ([]byte, bool) { return nil, true }}
		if _, _, err := sentBy(t, opts, func(context.Context) ([]byte, error) { return nil, failure }, ""); !errors.Is(err, ErrOnceStoredError) {
			t.Errorf("%s: got %v, want it stored", name, err)
		}
	}
}

// unmade is pgx's error of a connection that a server refused to make.
func unmade(t *testing.T) error {
	t.Helper()
	config, err := pgconn.ParseConfig("host=127.0.0.1 port=1 sslmode=disable connect_timeout=5")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		return nil, &pgconn.PgError{Severity: "FATAL", Code: "28P01", Message: "password authentication failed"}
	}
	_, err = pgconn.ConnectConfig(context.Background(), config)
	return err
}

func TestOncePanicIsNeverStored(t *testing.T) {
	t.Parallel()
	var sent []string
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic did not go on")
			}
		}()
		opts := &OnceOptions{StoreError: func(error) ([]byte, bool) { t.Error("asked"); return nil, true }}
		tx := (&onceServer{}).tx(t)
		tx.exec = func(sql string) error { sent = append(sent, sql); return nil }
		_, _ = Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) { panic("boom") }, opts)
	}()
	if !slices.Equal(sent, []string{"savepoint kvpg_once_42"}) {
		t.Errorf("sent %q", sent)
	}
}

func TestOnceReplayOfADiscardedResult(t *testing.T) {
	t.Parallel()
	tx := &fakeTx{fakeDB: func(_ context.Context, _ string, _, dest []any) error {
		isError := false
		*dest[0].(*string), *dest[3].(**bool) = "replay", &isError
		return nil
	}}
	r, err := Once(context.Background(), tx, ns, "k", time.Hour, nil, nil)
	if err != nil || r.Result != nil || !r.Replayed || !r.Discarded {
		t.Errorf("got %+v, %v", r, err)
	}
}

// neverSent is an error of pgx about what was never sent.
type neverSent struct{}

func (neverSent) Error() string     { return "conn closed" }
func (neverSent) SafeToRetry() bool { return true }

// A panic of StoreError is as one of the function: nothing is stored, and nothing can be committed.
func TestOnceStoreErrorPanics(t *testing.T) {
	t.Parallel()
	s := &onceServer{}
	tx := s.tx(t)
	var sent []string
	tx.exec = func(sql string) error {
		sent = append(sent, sql)
		return nil
	}
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v, want StoreError's own panic", got)
			}
		}()
		_, _ = Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
			return nil, errors.New("declined")
		}, &OnceOptions{StoreError: func(error) ([]byte, bool) { panic("boom") }})
	}()
	if len(s.tokens) != 1 || s.tokens[0] != 0 || !slices.Equal(sent, []string{"savepoint kvpg_once_42"}) {
		t.Errorf("tokens %v, sent %q: want one call with token 0, and no release", s.tokens, sent)
	}
}

// A serialization failure that comes when the error is being stored stands beside it, and is seen by RunTx.
func TestOnceRetryableWhenAnErrorIsStored(t *testing.T) {
	t.Parallel()
	s := &onceServer{end: func(_ context.Context, token int64) error {
		if token == 42 {
			return errSerialization
		}
		return &pgconn.PgError{Code: "25P02"}
	}}
	tx := s.tx(t)
	tx.exec = func(string) error { return nil }
	unique := &pgconn.PgError{Code: "23505"}
	_, err := Once(context.Background(), tx, ns, "k", time.Hour, func(context.Context) ([]byte, error) { return nil, unique },
		&OnceOptions{StoreError: func(error) ([]byte, bool) { return nil, true }})
	if !errors.Is(err, unique) || !IsRetryable(err) || errors.Is(err, ErrOnceStoredError) {
		t.Errorf("got %v, retryable %v, want both errors", err, IsRetryable(err))
	}
}
