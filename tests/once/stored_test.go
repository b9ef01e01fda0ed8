package once

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// storing takes every error it is asked about.
func storing(t *testing.T) *kvpg.OnceOptions {
	t.Helper()
	return &kvpg.OnceOptions{StoreError: func(err error) ([]byte, bool) { return []byte("stored: " + state(err)), true }}
}

// TestStoredError: the function's statements are undone, those before it in the transaction stay, and every later caller gets the
// bytes.
func TestStoredError(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		for name, statement := range map[string]string{
			"unique": `insert into public.taken values (1)`, "division": `select 1 / 0`, "none": ``,
		} {
			db.Exec(t, `drop table if exists public.taken; create table public.taken (n int unique); insert into public.taken values (1);
				delete from public.effect; delete from queen.kv`)
			want := "stored: " + map[string]string{"unique": "23505", "division": "22012", "none": ""}[name]
			tx := begin(t, handle)
			exec(t, tx, `insert into public.effect values ('before')`)
			_, err := run(t.Context(), tx, func(ctx context.Context) ([]byte, error) {
				if _, err := write(tx, "undone")(ctx); err != nil {
					return nil, err
				}
				if statement == "" {
					return nil, errEffect
				}
				_, err := tx.Exec(ctx, statement)
				return nil, err
			}, storing(t))
			stored := storedError(t, name, err)
			if string(stored.Stored) != want || stored.Replayed || errors.Unwrap(stored) == nil {
				t.Errorf("%s: got %+v", name, stored)
			}
			_, err = run(t.Context(), tx, never(t), nil) // in the same transaction, and one that doesn't know of stored errors
			if again := storedError(t, name, err); string(again.Stored) != want || !again.Replayed {
				t.Errorf("%s, again: got %+v", name, again)
			}
			exec(t, tx, `insert into public.effect values ('later')`)
			commit(t, tx)
			if got := effects(t, db); got != "before later" {
				t.Errorf("%s: effects: %q", name, got)
			}
			tx = begin(t, handle)
			_, err = run(t.Context(), tx, never(t), storing(t))
			if replay := storedError(t, name, err); string(replay.Stored) != want || !replay.Replayed || errors.Unwrap(replay) != nil {
				t.Errorf("%s, replay: got %+v", name, replay)
			}
			commit(t, tx)
		}
	})
}

func storedError(t *testing.T, name string, err error) *kvpg.OnceStoredError {
	t.Helper()
	var stored *kvpg.OnceStoredError
	if !errors.As(err, &stored) || !errors.Is(err, kvpg.ErrOnceStoredError) {
		t.Fatalf("%s: got %v, want a stored error", name, err)
	}
	return stored
}

type passingError struct {
	level string
	state string
	// raise makes the transaction's session, whose function calls it, meet the error; db is for sessions beside it.
	raise func(t *testing.T, db *testdb.DB, tx kvpg.Tx) error
}

const lastOfPassing = "session terminated"

// passing are the errors that another try may heal; each is a real one.
var passing = map[string]passingError{
	"serialization failure": {"repeatable read", "40001", func(t *testing.T, db *testdb.DB, tx kvpg.Tx) error {
		db.Exec(t, `update public.row set n = n + 1 where id = 1`) // the snapshot is older
		return execute(t, tx, `update public.row set n = n + 1 where id = 1`)
	}},
	"deadlock": {"read committed", "40P01", deadlock},
	"lock timeout": {"read committed", "55P03", func(t *testing.T, db *testdb.DB, tx kvpg.Tx) error {
		holder := begin(t, over(db.Conn(t)))
		exec(t, holder, `update public.row set n = n + 1 where id = 1`)
		return execute(t, tx, `set local lock_timeout = '20ms'; update public.row set n = n + 1 where id = 1`)
	}},
	"no wait": {"read committed", "55P03", func(t *testing.T, db *testdb.DB, tx kvpg.Tx) error {
		holder := begin(t, over(db.Conn(t)))
		exec(t, holder, `update public.row set n = n + 1 where id = 1`)
		return execute(t, tx, `select from public.row where id = 1 for update nowait`)
	}},
	"statement timeout": {"read committed", "57014", func(t *testing.T, _ *testdb.DB, tx kvpg.Tx) error {
		return execute(t, tx, `set local statement_timeout = '20ms'; select pg_sleep(60)`)
	}},
	"aborted earlier": {"read committed", "25P02", func(t *testing.T, _ *testdb.DB, tx kvpg.Tx) error {
		if err := execute(t, tx, `select 1 / 0`); err == nil {
			t.Error("no error")
		}
		return execute(t, tx, `select 1`)
	}},
	lastOfPassing: {"read committed", "57P01", func(t *testing.T, _ *testdb.DB, tx kvpg.Tx) error {
		return execute(t, tx, `select pg_terminate_backend(pg_backend_pid())`)
	}},
}

// execute takes several statements in one text.
func execute(t *testing.T, tx kvpg.Tx, statement string) error {
	t.Helper()
	_, err := tx.Exec(t.Context(), statement)
	return err
}

// deadlock: the transaction has row 1 and waits for a row of another one, which then asks for row 1. A second later both look, and
// who looks first is the victim; when that was the other one, it is tried with the next row.
func deadlock(t *testing.T, db *testdb.DB, tx kvpg.Tx) error {
	if err := execute(t, tx, `update public.row set n = n + 1 where id = 1`); err != nil {
		return err
	}
	me := pid(t, tx)
	for row := 2; row <= rows; row++ {
		update := fmt.Sprintf(`update public.row set n = n + 1 where id = %d`, row)
		other := begin(t, over(db.Conn(t)))
		exec(t, other, update)
		mine, theirs := make(chan error, 1), make(chan error, 1)
		go func() { mine <- execute(t, tx, update) }()
		testdb.WaitForLock(t, db, me)
		go func() { theirs <- execute(t, other, `update public.row set n = n + 1 where id = 1`) }()
		// The victim's locks are gone with its statement, so that both return.
		if err := await(t, mine); err != nil {
			return errors.Join(err, await(t, theirs))
		}
		if err := await(t, theirs); state(err) != "40P01" {
			return fmt.Errorf("the other one: %w", err)
		}
		if err := other.Rollback(t.Context()); err != nil {
			return err
		}
	}
	return errors.New("the other one was always the victim")
}

// rows is how many rows the table has.
const rows = 12

// TestNeverStored: these fail as without the option: the transaction is lost, nothing is stored, and the key is free.
func TestNeverStored(t *testing.T) {
	t.Parallel()
	eachHandle(t, func(t *testing.T, db *testdb.DB, handle beginner) {
		db.Exec(t, `create table public.row (id int primary key, n int not null)`)
		db.Exec(t, `insert into public.row select generate_series(1, $1), 0`, rows)
		for name, c := range passing {
			if name != lastOfPassing { // which breaks the connection
				t.Run(name, func(t *testing.T) { neverStored(t, db, handle, c) })
			}
		}
		t.Run(lastOfPassing, func(t *testing.T) { neverStored(t, db, handle, passing[lastOfPassing]) })
	})
}

func neverStored(t *testing.T, db *testdb.DB, handle beginner, c passingError) {
	db.Exec(t, `delete from public.effect; delete from queen.kv`)
	tx := begin(t, at(c.level, handle))
	_, err := run(t.Context(), tx, func(ctx context.Context) ([]byte, error) {
		if _, err := write(tx, "undone")(ctx); err != nil {
			return nil, err
		}
		return nil, c.raise(t, db, tx)
	}, &kvpg.OnceOptions{StoreError: func(err error) ([]byte, bool) {
		t.Errorf("StoreError was asked about %v", err)
		return nil, true
	}})
	// lib/pq knows a lost session as driver.ErrBadConn.
	if got := state(err); err == nil || got != c.state && (c.state != "57P01" || got != "") || errors.Is(err, kvpg.ErrOnceStoredError) {
		t.Errorf("got %v, want SQLSTATE %s", err, c.state)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the transaction was committed")
	}
	if got := effects(t, db); got != "" {
		t.Errorf("effects: %q", got)
	}
	isFree(t, db)
}
