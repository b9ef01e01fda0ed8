package fuzz

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A worker plays calls on one connection, each a transaction of its own, in a tenant of its own.
type worker struct {
	conn   *pgx.Conn
	tenant string
	memory memory
	before state
	tally  tally
	played int
}

// A tally counts what calls came to: a code of the contract, or one of the names below.
type tally map[string]int

const (
	answered   = "answered"
	notTheType = "not of the parameter's type" // the cast alone raises the error
)

func (t tally) add(other tally) {
	for name, n := range other {
		t[name] += n
	}
}

func (t tally) total() int {
	n := 0
	for v := range maps.Values(t) {
		n += v
	}
	return n
}

// A state is what a refused call must not change: which row versions the tenant has, and the last version drawn here.
type state struct {
	rows, digest, drawn int64
}

func (w *worker) look(ctx context.Context) (s state, err error) {
	err = w.conn.QueryRow(ctx, `select count(*), coalesce(sum(hashtextextended(kv.ctid::text || ' ' || kv.xmin::text, 0)::numeric % 1000000007), 0)::bigint,
		currval('queen.kv_version_seq') from queen.kv where tenant_id = $1::text::uuid`, w.tenant).Scan(&s.rows, &s.digest, &s.drawn)
	return s, err
}

// play makes a call, counts it, and says what is wrong.
func (w *worker) play(ctx context.Context, c call) error {
	if err := w.try(ctx, c); err != nil {
		return err
	}
	if w.played++; w.played%100 != 0 && c.size() < 1000 { // asking for it takes as long as a call
		return nil
	}
	return w.memory.look()
}

func (w *worker) try(ctx context.Context, c call) error {
	var answer *string
	err := w.conn.QueryRow(ctx, c.statement(), c.params()...).Scan(&answer)
	if err == nil {
		w.tally[answered]++
		if c.function == "kv_apply_v1" {
			if problem := misanswered(*c.args[0].text, *answer); problem != "" {
				return errors.New(problem)
			}
		}
		w.before, err = w.look(ctx)
		return err
	}
	after, lookErr := w.look(ctx)
	if lookErr != nil {
		return fmt.Errorf("%w, and the session did not survive it: %w", err, lookErr)
	}
	before := w.before
	if c.form != "" { // of its two functions the first may have gone through
		before.drawn = after.drawn
	}
	w.before = after
	var raised *pgconn.PgError
	if !errors.As(err, &raised) {
		return err
	}
	if problem := misformed(raised); problem != "" || c.noCode {
		if w.raisedByCast(ctx, c, raised) {
			w.tally[notTheType]++
			return unchanged(before, after, "")
		}
		return fmt.Errorf("%s %s (DETAIL %.300s): %s", raised.Code, raised.Message, raised.Detail, problem)
	}
	w.tally[raised.Message]++
	return unchanged(before, after, raised.Message)
}

func (w *worker) raisedByCast(ctx context.Context, c call, raised *pgconn.PgError) bool {
	var ignored int
	err := w.conn.QueryRow(ctx, c.casts(), c.params()...).Scan(&ignored)
	var alone *pgconn.PgError
	return errors.As(err, &alone) && alone.Code == raised.Code && alone.Message == raised.Message
}

func unchanged(before, after state, code string) error {
	for _, c := range drawsVersion {
		if c == code {
			before.drawn = after.drawn
		}
	}
	if before != after {
		return fmt.Errorf("refused (%s), but what was there has changed: %+v, before %+v", code, after, before)
	}
	return nil
}
