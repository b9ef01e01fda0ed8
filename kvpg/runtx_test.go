package kvpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

var errSerialization = &pgconn.PgError{Severity: "ERROR", Code: "40001", Message: "could not serialize access"}

// txRecorder is a Beginner whose transactions commit as it says, and that remembers what became of them.
type txRecorder struct {
	begin  error
	commit func(ctx context.Context, attempt int) error // nil: yes

	begun, committed, rolledBack int
	rollback                     context.Context // of the last one, as Rollback got it
}

type recordedTx struct {
	fakeTx
	of *txRecorder
}

func (r *txRecorder) Begin(context.Context) (*recordedTx, error) {
	if r.begin != nil {
		return nil, r.begin
	}
	r.begun++
	return &recordedTx{of: r}, nil
}

func (tx *recordedTx) Commit(ctx context.Context) error {
	if tx.of.commit != nil {
		if err := tx.of.commit(ctx, tx.of.begun); err != nil {
			return err
		}
	}
	tx.of.committed++
	return nil
}

func (tx *recordedTx) Rollback(ctx context.Context) error {
	tx.of.rolledBack++
	tx.of.rollback = ctx
	return ctx.Err()
}

func (r *txRecorder) became(t *testing.T, begun, committed, rolledBack int) {
	t.Helper()
	if r.begun != begun || r.committed != committed || r.rolledBack != rolledBack {
		t.Errorf("%d begun, %d committed, %d rolled back; want %d, %d, %d", r.begun, r.committed, r.rolledBack, begun, committed, rolledBack)
	}
}

// failing gives a function for RunTx that fails so many times.
func failing(times int, err error) func(context.Context, *recordedTx) error {
	runs := 0
	return func(context.Context, *recordedTx) error {
		if runs++; runs <= times {
			return err
		}
		return nil
	}
}

func TestRunTxRetries(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40001", "40P01"} {
		synctest.Test(t, func(t *testing.T) {
			r := &txRecorder{}
			cause := fmt.Errorf("in fn: %w", &pgconn.PgError{Severity: "ERROR", Code: state})
			if err := RunTx(t.Context(), r, failing(20, cause), nil); err != nil {
				t.Errorf("%s: got %v", state, err)
			}
			r.became(t, 21, 1, 20)
			r = &txRecorder{commit: func(_ context.Context, attempt int) error {
				if attempt < 3 {
					return cause
				}
				return nil
			}}
			if err := RunTx(t.Context(), r, failing(0, nil), nil); err != nil {
				t.Errorf("%s at COMMIT: got %v", state, err)
			}
			r.became(t, 3, 1, 2)
		})
	}
}

func TestRunTxRetriesNothingElse(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"own": errors.New("own"), "unique": &pgconn.PgError{Code: "23505"}, "lock timeout": &pgconn.PgError{Code: "55P03"},
		"broken": io.ErrUnexpectedEOF, "lost session": &pgconn.PgError{Code: "57P01"}, "busy": &Error{Code: ErrOnceBusy},
	} {
		r := &txRecorder{}
		if err := RunTx(context.Background(), r, failing(1, failure), nil); !errors.Is(err, failure) || err.Error() != failure.Error() {
			t.Errorf("%s: got %v, want the function's own error", name, err)
		}
		r.became(t, 1, 0, 1)
	}
	r := &txRecorder{begin: errors.New("no connection")}
	if err := RunTx(context.Background(), r, failing(0, nil), nil); !errors.Is(err, r.begin) {
		t.Errorf("got %v", err)
	}
}

func TestRunTxMaxAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &txRecorder{}
		err := RunTx(t.Context(), r, failing(5, errSerialization), &TxOptions{MaxAttempts: 3})
		if !errors.Is(err, errSerialization) || !IsRetryable(err) {
			t.Errorf("got %v, want the last error inside", err)
		}
		r.became(t, 3, 0, 3)
	})
}

// A bound that is none would otherwise retry for ever.
func TestRunTxRefusesABoundBelowZero(t *testing.T) {
	t.Parallel()
	for _, most := range []int{-1, math.MinInt} {
		r := &txRecorder{}
		err := RunTx(t.Context(), r, failing(1, errSerialization), &TxOptions{MaxAttempts: most})
		if !errors.Is(err, ErrBadRequest) || !strings.Contains(err.Error(), "MaxAttempts") {
			t.Errorf("%d: got %v", most, err)
		}
		r.became(t, 0, 0, 0)
	}
}

// The waits grow, and not beyond a second: a hundred of them take less than a hundred seconds, and ten no more than the sum.
func TestRunTxBacksOff(t *testing.T) {
	t.Parallel()
	for times, most := range map[int]time.Duration{1: 8 * time.Millisecond, 4: 120 * time.Millisecond, 100: 100 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if err := RunTx(t.Context(), &txRecorder{}, failing(times, errSerialization), nil); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took <= 0 || took > most {
				t.Errorf("%d waits took %v, want up to %v", times, took, most)
			}
		})
	}
}

func TestRunTxStopsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &txRecorder{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := RunTx(ctx, r, failing(1<<30, errSerialization), nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errSerialization) {
			t.Errorf("got %v, want both errors", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %v", took)
		}
		// The same where the context ends inside the next try.
		ctx, cancel = context.WithCancel(t.Context())
		runs := 0
		err = RunTx(ctx, r, func(ctx context.Context, _ *recordedTx) error {
			if runs++; runs == 2 {
				cancel()
				return ctx.Err()
			}
			return errSerialization
		}, nil)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errSerialization) {
			t.Errorf("got %v, want both errors", err)
		}
	})
}

func TestRunTxRollsBackWithAContextThatLives(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(context.Context, context.CancelFunc) error{
		"error":   func(context.Context, context.CancelFunc) error { return errors.New("own") },
		"ended":   func(_ context.Context, cancel context.CancelFunc) error { cancel(); return nil },
		"panic":   func(context.Context, context.CancelFunc) error { panic("boom") },
		"both":    func(_ context.Context, cancel context.CancelFunc) error { cancel(); panic("boom") },
		"ended 2": func(ctx context.Context, cancel context.CancelFunc) error { cancel(); return ctx.Err() },
	} {
		r := &txRecorder{}
		ctx, cancel := context.WithCancel(context.Background())
		var err error
		panicked := func() (p any) {
			defer func() { p = recover() }()
			err = RunTx(ctx, r, func(ctx context.Context, _ *recordedTx) error {
				defer func() {
					if r.rollback != nil {
						t.Errorf("%s: rolled back too early", name)
					}
				}()
				return fn(ctx, cancel)
			}, nil)
			return nil
		}()
		cancel()
		if err == nil && panicked != "boom" {
			t.Errorf("%s: no error", name)
		}
		if (name == "ended" || name == "ended 2") && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
		r.became(t, 1, 0, 1)
		if _, limited := r.rollback.Deadline(); !limited {
			t.Errorf("%s: the rollback has no deadline", name)
		}
	}
}

// savepoints is a transaction, whose Begin makes savepoints: pgx.Tx is one.
type savepoints struct{ fakeTx }

func (*savepoints) Begin(context.Context) (*fakeTx, error) { return nil, errors.New("begun") }

// Within a transaction RunTx could keep neither promise: nil would not mean committed, and a retry would see the same snapshot.
func TestRunTxRefusesATransaction(t *testing.T) {
	t.Parallel()
	err := RunTx(context.Background(), &savepoints{}, func(context.Context, *fakeTx) error { return nil }, nil)
	if !errors.Is(err, ErrBadRequest) {
		t.Errorf("RunTx: got %v", err)
	}
	_, err = OnceTx(context.Background(), &savepoints{}, ns, "k", time.Hour, func(context.Context, *fakeTx) ([]byte, error) { return nil, nil }, nil)
	if !errors.Is(err, ErrBadRequest) {
		t.Errorf("OnceTx: got %v", err)
	}
}

func TestRunTxRollsBackOnGoexit(t *testing.T) {
	t.Parallel()
	r := &txRecorder{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = RunTx(context.Background(), r, func(context.Context, *recordedTx) error {
			runtime.Goexit()
			return nil
		}, nil)
		t.Error("RunTx returned")
	}()
	<-ended
	r.became(t, 1, 0, 1)
}
