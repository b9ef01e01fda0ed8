package kvpg_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

type outcome struct {
	result kvpg.OnceResult
	err    error
}

// waiter begins a transaction with a duplicate of the key, and returns when the database shows it waiting for a lock.
func waiter(t *testing.T, database *testdb.DB, ns kvpg.Namespace, options pgx.TxOptions,
	fn func(context.Context) ([]byte, error),
) (pgx.Tx, <-chan outcome) {
	t.Helper()
	conn := database.Conn(t)
	tx, err := conn.BeginTx(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := kvpg.Get(t.Context(), tx, ns, "k"); err != nil { // takes the snapshot where there is one
		t.Fatal(err)
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := kvpg.Once(t.Context(), tx, ns, "k", time.Hour, fn, nil)
		done <- outcome{r, err}
	}()
	testdb.WaitForLock(t, database, conn.PgConn().PID())
	return tx, done
}

// await gives what a waiter came to, and fails after a time that is only there so that no failure hangs.
func await(t *testing.T, done <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(30 * time.Second):
		t.Fatal("the waiter is still waiting")
		return outcome{}
	}
}

func TestOnceDuplicatesWaitAndReplay(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	ns := freshSpace()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	first := begin(t, database.Conn(t))
	var txs []pgx.Tx
	var waiting []<-chan outcome
	r := must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), first, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
		for range 3 { // in flight, between the marker and its result
			tx, done := waiter(t, database, ns, pgx.TxOptions{}, never(t))
			txs, waiting = append(txs, tx), append(waiting, done)
		}
		return all, nil
	}, nil))
	if r.Replayed || !bytes.Equal(r.Result, all) {
		t.Errorf("the first got %+v", r)
	}
	tx, done := waiter(t, database, ns, pgx.TxOptions{}, never(t)) // the result is stored, and not committed
	txs, waiting = append(txs, tx), append(waiting, done)
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, done := range waiting { // no waiter has ended its transaction, so none waits for another
		if o := await(t, done); o.err != nil || !o.result.Replayed || !bytes.Equal(o.result.Result, all) {
			t.Errorf("waiter %d got %+v", i, o)
		}
	}
	for _, tx := range txs {
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestOnceWaiterRunsAfterRollback(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]bool{"the first rolls back": false, "the first fails": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := testdb.New(t, nil)
			ns := freshSpace()
			first := begin(t, database.Conn(t))
			var second pgx.Tx
			var done <-chan outcome
			_, err := kvpg.Once(t.Context(), first, ns, "k", time.Hour, func(context.Context) ([]byte, error) {
				second, done = waiter(t, database, ns, pgx.TxOptions{}, returning([]byte("second")))
				if fail {
					return nil, errEffect
				}
				return []byte("first"), nil
			}, nil)
			if fail != errors.Is(err, errEffect) {
				t.Errorf("the first got %v", err)
			}
			if err := first.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if o := await(t, done); o.err != nil || o.result.Replayed || string(o.result.Result) != "second" {
				t.Errorf("the waiter got %+v, want to run", o)
			}
			if err := second.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Above READ COMMITTED the snapshot of the waiter can't see the winner's marker: it is told to retry, and the retry replays.
func TestOnceWaiterAboveReadCommitted(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			database := testdb.New(t, nil)
			ns := freshSpace()
			options := pgx.TxOptions{IsoLevel: level}
			first := begin(t, database.Conn(t))
			must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), first, ns, "k", time.Hour, returning([]byte("r")), nil))
			second, done := waiter(t, database, ns, options, never(t))
			if err := first.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if o := await(t, done); !kvpg.IsRetryable(o.err) {
				t.Errorf("the waiter got %+v, want SQLSTATE 40001", o)
			}
			if err := second.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			retry := must[pgx.Tx](t)(database.Conn(t).BeginTx(t.Context(), options))
			r := must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), retry, ns, "k", time.Hour, never(t), nil))
			if !r.Replayed || string(r.Result) != "r" {
				t.Errorf("the retry got %+v", r)
			}
		})
	}
}

// TestOnceLockTimeout says what a bounded wait costs: the transaction.
func TestOnceLockTimeout(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	ns := freshSpace()
	first := begin(t, database.Conn(t))
	must[kvpg.OnceResult](t)(kvpg.Once(t.Context(), first, ns, "k", time.Hour, returning(nil), nil))
	second := begin(t, database.Conn(t))
	if _, err := second.Exec(t.Context(), `set local lock_timeout = '20ms'`); err != nil {
		t.Fatal(err)
	}
	_, err := kvpg.Once(t.Context(), second, ns, "k", time.Hour, never(t), nil)
	var e *kvpg.Error
	if !errors.As(err, &e) || e.SQLState != "55P03" || kvpg.IsRetryable(err) {
		t.Errorf("got %v, want SQLSTATE 55P03", err)
	}
	if err := second.Commit(t.Context()); !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("commit gave %v", err)
	}
}
