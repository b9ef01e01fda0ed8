package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/examples/internal/scratchtest"
	"github.com/queenkv/queenkv/kvpg"
)

func TestStep(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	c.batch = 3
	tx := begin(t, pool)
	mustAppend(t, tx, 7)
	mustCommit(t, tx)
	for i, want := range []int{3, 3, 1, 0} {
		if have, err := c.step(t.Context()); err != nil || have != want {
			t.Fatalf("step %d: %d events, %v; want %d", i, have, err, want)
		}
	}
	if r := mustReport(t, pool); r.Lines != 7 || r.Cursor != 7 {
		t.Errorf("%+v, want 7 effects", *r)
	}
}

// stepBehind begins a step that has to wait for tx, in which another replica has advanced the cursor.
func stepBehind(t *testing.T, c *consumer, tx pgx.Tx) <-chan error {
	t.Helper()
	version, events, err := c.next(t.Context(), tx)
	if err == nil {
		err = c.advance(t.Context(), tx, version, events)
	}
	if err == nil {
		err = apply(t.Context(), tx, events)
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.step(t.Context())
		done <- err
	}()
	scratchtest.UntilBlocked(t, scratchtest.Connect(t, c.pool.Config().ConnString()))
	return done
}

// A step that read the cursor before another replica moved it fails, whether or not there was a cursor before.
func TestStepLoses(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	for _, round := range []string{"no cursor yet", "a cursor"} {
		appending := begin(t, pool)
		mustAppend(t, appending, 5)
		mustCommit(t, appending)
		first := begin(t, pool)
		second := stepBehind(t, c, first)
		mustCommit(t, first)
		if err := <-second; !errors.Is(err, kvpg.ErrPreconditionFailed) {
			t.Errorf("%s: %v, want %v", round, err, kvpg.ErrPreconditionFailed)
		}
	}
	if r := mustReport(t, pool); r.Lines != 10 || r.Cursor != 10 {
		t.Errorf("%+v, want 10 effects", *r)
	}
}

// The same race with the cursor apart: the loser's effects are there to stay, and the report sees them.
func TestStepApartDoubles(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	c.cursorApart = true
	appending := begin(t, pool)
	mustAppend(t, appending, 5)
	mustCommit(t, appending)
	first := begin(t, pool)
	second := stepBehind(t, c, first)
	mustCommit(t, first)
	if err := <-second; !errors.Is(err, kvpg.ErrPreconditionFailed) {
		t.Errorf("%v, want %v", err, kvpg.ErrPreconditionFailed)
	}
	r, err := readReport(t.Context(), pool, "consumer")
	if err != nil || r.Doubled != 5 || r.Lines != 10 || r.Cursor != 5 {
		t.Errorf("%+v, %v; want each of the 5 effects twice", r, err)
	}
}

// A step whose rival rolls back, or dies, goes on and applies what the rival did not.
func TestStepAfterARollback(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	for _, round := range []string{"no cursor yet", "a cursor"} {
		appending := begin(t, pool)
		mustAppend(t, appending, 5)
		mustCommit(t, appending)
		first := begin(t, pool)
		second := stepBehind(t, c, first)
		if err := first.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-second; err != nil {
			t.Errorf("%s: %v", round, err)
		}
	}
	if r := mustReport(t, pool); r.Lines != 10 || r.Cursor != 10 {
		t.Errorf("%+v, want 10 effects", *r)
	}
}

// Run treats a lost race as an outcome, and a conflict above READ COMMITTED as a reason to try again.
func TestRunGoesOn(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			pool, _ := tables(t)
			url := pool.Config().ConnString()
			_, err := scratchtest.Connect(t, url).Exec(t.Context(), `do $$ begin execute format(
				'alter database %I set default_transaction_isolation to %L', current_database(), '`+level+`'); end $$`)
			if err != nil {
				t.Fatal(err)
			}
			consumerRun(t, 0, "append", "-database", url, "-events", "400")
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					var out, errs bytes.Buffer
					if status := run(t.Context(), []string{"consume", "-database", url, "-drain", "-batch", "5"}, &out, &errs); status != 0 {
						t.Errorf("exit status %d: %s", status, errs.String())
					}
					t.Log(out.String())
				})
			}
			both.Wait()
			if r := mustReport(t, pool); r.Lines != 400 || r.left() != 0 {
				t.Errorf("%+v, want 400 effects", *r)
			}
		})
	}
}

// A log that was written by somebody else, with a gap, is an error and not skipped.
func TestGapIsAnError(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	if _, err := pool.Exec(t.Context(), `insert into event values (1, 'a', 1), (3, 'a', 1)`); err != nil {
		t.Fatal(err)
	}
	if n, err := c.step(t.Context()); err == nil || !strings.Contains(err.Error(), "no position 2") {
		t.Errorf("%d events, %v; want an error that tells of position 2", n, err)
	}
}

// A stop in the middle is no failure, and leaves nothing half done.
func TestStop(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	tx := begin(t, pool)
	mustAppend(t, tx, 5)
	mustCommit(t, tx)
	ctx, stop := context.WithCancel(t.Context())
	holding := begin(t, pool) // makes the step wait
	if err := c.advance(ctx, holding, kvpg.Version{}, []event{{position: 1}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.run(ctx, false)
		done <- err
	}()
	scratchtest.UntilBlocked(t, scratchtest.Connect(t, pool.Config().ConnString()))
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped: %v", err)
	}
	if err := holding.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := mustReport(t, pool); r.Lines != 0 {
		t.Errorf("%+v, want no effect", *r)
	}
}
