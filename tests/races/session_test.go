package races

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A session is one connection of a test that needs several. Its methods end the test when what
// they do fails, but for those that return an error, which may run in other goroutines.
type session struct {
	*pgx.Conn
	t *testing.T
}

// sessions opens n of them; what they hold is given back when the test ends.
func sessions(t *testing.T, db *testdb.DB, n int) []*session {
	t.Helper()
	list := make([]*session, n)
	for i := range list {
		list[i] = &session{Conn: db.Conn(t), t: t}
		list[i].exec("set statement_timeout = '60s'") // a test that hangs is told from one that is slow
	}
	return list
}

func (s *session) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s *session) begin(isolation string) { s.t.Helper(); s.exec("begin isolation level " + isolation) }
func (s *session) commit()                { s.t.Helper(); s.exec("commit") }
func (s *session) rollback()              { s.t.Helper(); s.exec("rollback") }

// count is one number.
func (s *session) count(sql string, args ...any) (n int64) {
	s.t.Helper()
	if err := s.QueryRow(s.t.Context(), sql, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// apply is kv_apply_v1; ops is JSON, as are the values of the results.
func (s *session) apply(ops string) ([]result, error) {
	var answer string
	if err := s.QueryRow(s.t.Context(), "select queen.kv_apply_v1($1::jsonb)::text", ops).Scan(&answer); err != nil {
		return nil, err
	}
	var results []result
	err := json.Unmarshal([]byte(answer), &results)
	return results, err
}

func (s *session) mustApply(ops string) []result {
	s.t.Helper()
	results, err := s.apply(ops)
	if err != nil {
		s.t.Fatalf("%s: %v", ops, err)
	}
	return results
}

// An answer is kv_once_begin_v1's.
type answer struct {
	state   string
	token   int64 // 0 where there is none
	result  string
	isError bool
}

func (a answer) String() string {
	return fmt.Sprintf("{state %s, token %d, result %q, error %v}", a.state, a.token, a.result, a.isError)
}

// A begun is a caller of Once; the zero value of each field is the usual case.
type begun struct {
	fingerprint string // none when empty
	busy        bool   // p_wait false
	ttlMs       int64  // 0: a minute
}

func (s *session) once(key string, b begun) (a answer, err error) {
	var token *int64
	var result []byte
	var isError *bool
	var fingerprint []byte
	if b.fingerprint != "" {
		fingerprint = []byte(b.fingerprint)
	}
	if b.ttlMs == 0 {
		b.ttlMs = 60_000
	}
	err = s.QueryRow(s.t.Context(), `select state, token, result, is_error
		from queen.kv_once_begin_v1($1, $2, $3, p_fingerprint => $4, p_wait => $5)`,
		namespace, key, b.ttlMs, fingerprint, !b.busy).Scan(&a.state, &token, &result, &isError)
	if token != nil {
		a.token = *token
	}
	a.result, a.isError = string(result), isError != nil && *isError
	return a, err
}

// mustOnce is once where the state is known beforehand.
func (s *session) mustOnce(key string, b begun, state string) answer {
	s.t.Helper()
	a, err := s.once(key, b)
	if err != nil || a.state != state || (a.token > 0) != (state == "run") {
		s.t.Fatalf("Once of %s: %v, %v, want the state %s, and a token for run alone", key, a, err, state)
	}
	return a
}

func (s *session) end(key string, token int64, result string, isError bool) error {
	_, err := s.Exec(s.t.Context(), "select queen.kv_once_end_v1($1, $2, $3, $4, $5)", namespace, key, token, []byte(result), isError)
	return err
}

func (s *session) mustEnd(key string, token int64, result string) {
	s.t.Helper()
	if err := s.end(key, token, result, false); err != nil {
		s.t.Fatalf("end of %s: %v", key, err)
	}
}

// A waiting is a call of Once in a goroutine of its own; answer and err are there when done is closed.
type waiting struct {
	*session
	done   chan struct{}
	answer answer
	err    error
}

func (s *session) onceInBackground(key string, b begun) *waiting {
	w := &waiting{session: s, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.answer, w.err = s.once(key, b)
	}()
	return w
}

// waitsFor asserts that the call waits for a lock of holder.
func (w *waiting) waitsFor(watch, holder *session) {
	w.t.Helper()
	waits, err := blockedBy(w.t.Context(), watch.Conn, w.PgConn().PID(), holder.PgConn().PID(), w.done)
	if err != nil || !waits {
		w.t.Fatalf("waits: %v, %v; or it has returned: %v, %v", waits, err, w.answer, w.err)
	}
}

// returns is the call's answer, which must come.
func (w *waiting) returns(state string) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waitLimit)
	defer cancel()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.t.Fatalf("it still waits, after %v", waitLimit)
	}
	if w.err != nil || w.answer.state != state || (w.answer.token > 0) != (state == "run") {
		w.t.Fatalf("after the wait: %v, %v, want the state %s, and a token for run alone", w.answer, w.err, state)
	}
	return w.answer
}

// fails is the SQLSTATE and the message of the call's error, which must come.
func (w *waiting) fails() (code, message string) {
	w.t.Helper()
	<-w.done
	if w.err == nil {
		w.t.Fatalf("after the wait: %v, want an error", w.answer)
	}
	return sqlState(w.err)
}

// sqlState is an error's SQLSTATE and message, empty when it isn't the server's.
func sqlState(err error) (code, message string) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return "", ""
	}
	return pgErr.Code, pgErr.Message
}
