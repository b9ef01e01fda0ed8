package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A trace is what some calls of a contender have done: what they found, or what they left. What differs from run to run is not in it:
// versions that were drawn, and times.
type trace struct {
	found, inserted, updated, deleted int
	versions                          int64 // sum of those found
	left                              string
	effects                           int
}

// check fails unless all contenders of an operation do the same work for the same arguments: a ratio of different work would say
// nothing. Everything is rolled back.
func (b *bench) check(ctx context.Context, c cell, o op) error {
	var first trace
	for i, s := range o.sides {
		t, err := b.trace(ctx, c, o, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if i == 0 {
			first = t
		}
		if t != first {
			return fmt.Errorf("the contenders do different work:\n%s: %+v\n%s: %+v", o.sides[0].name, first, s.name, t)
		}
	}
	changed := first.inserted + first.updated + first.deleted + first.effects
	if o.reads && first.found == 0 || (o.reads || o.loses) != (changed == 0) {
		return fmt.Errorf("not the work that it should be: %+v", first)
	}
	return nil
}

func (b *bench) trace(ctx context.Context, c cell, o op, s side) (t trace, err error) {
	const calls = 50
	tx, err := b.server.Conn.Begin(ctx)
	if err != nil {
		return t, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is to stay
	if t, err = changes(ctx, tx); err != nil {
		return t, err
	}
	before := t
	w := newWorker(c, "check", 1, 1)
	w.checking = true
	for range calls {
		w.answer = ""
		if err := s.call(ctx, tx, w); err != nil {
			return t, err
		}
		if o.reads && w.answer != "" {
			if err := w.readAnswer(); err != nil {
				return t, err
			}
		}
	}
	if t, err = changes(ctx, tx); err != nil {
		return t, err
	}
	t.inserted, t.updated, t.deleted = t.inserted-before.inserted, t.updated-before.updated, t.deleted-before.deleted
	t.found, t.versions = w.found, w.versions
	err = tx.QueryRow(ctx, `select count(*) from bench.effect where key = any ($1)`, w.touched).Scan(&t.effects)
	if err != nil {
		return t, err
	}
	if o.name == once.name { // the markers are kept in ways of their own
		t.inserted, t.updated, t.deleted = 0, 0, 0
		return t, nil
	}
	return t, tx.QueryRow(ctx, `
		select coalesce(md5(string_agg(concat_ws(' ', tenant_id, namespace, key, value,
				case when expires_at = updated_at + interval '5 hours' then 'new' else expires_at::text end,
				updated_at >= now(), created_at >= now()), e'\n' order by namespace, key)), '')
		from queen.kv where tenant_id = `+tenantSQL+` and namespace = 'bench' and key = any ($1)`, w.touched).Scan(&t.left)
}

// changes are how many rows of the whole table this connection has changed and not yet reported; two of them in a transaction tell what
// was changed between them.
func changes(ctx context.Context, tx pgx.Tx) (t trace, err error) {
	err = tx.QueryRow(ctx, `select pg_stat_get_xact_tuples_inserted(kv), pg_stat_get_xact_tuples_updated(kv), pg_stat_get_xact_tuples_deleted(kv)
		from (select 'queen.kv'::regclass as kv) as t`).Scan(&t.inserted, &t.updated, &t.deleted)
	return t, err
}

// readAnswer counts the rows in the answer of kv_apply_v1, which is a get's or has a getMany's rows.
func (w *worker) readAnswer() error {
	type row struct{ Version int64 }
	var results []struct {
		row
		Found bool
		Rows  []row
	}
	if err := json.Unmarshal([]byte(w.answer), &results); err != nil {
		return err
	}
	for _, r := range results {
		if r.Found {
			w.saw(r.Version)
		}
		for _, inner := range r.Rows {
			w.saw(inner.Version)
		}
	}
	return nil
}
