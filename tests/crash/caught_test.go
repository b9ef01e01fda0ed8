package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/cluster"
)

// TestCaught shows that the checker bites, on a server of its own.
func TestCaught(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	t.Run("planted", func(t *testing.T) { planted(t, newDatabase(t, c, "planted")) })
	t.Run("wrong", func(t *testing.T) { wrong(t, c) })
}

// planted: the checker finds nothing in a database that is right, and finds what is planted there.
func planted(t *testing.T, u *url.URL) {
	l := newLoad(t, u, once, rand.New(rand.NewPCG(1, 1)), 0)
	l.run(t, func() {
		if err := l.progress(t.Context(), 10); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	expect(t, findings(t, l, conn), nil)

	for _, plant := range []struct {
		what string
		sql  string // $1 is a delivery
		want []problem
	}{
		{"a double", "insert into ledger (delivery) values ($1)", []problem{doubled}},
		{"a loss", "delete from ledger where delivery = $1", []problem{noEffect, lost}},
		{"a loss with its marker", `with row as (delete from ledger where delivery = $1)
			delete from queen.kv where key = $1`, []problem{lost}},
		{"a lost marker", "delete from queen.kv where key = $1", []problem{noMarker}},
		{"a loss done again", `with row as (delete from ledger where delivery = $1)
			insert into ledger (delivery) values ($1)`, []problem{noEffect, lost}},
		{"a marker of nothing", `select queen.kv_once_end_v1('deliveries', 'x' || $1, token, '0')
			from queen.kv_once_begin_v1('deliveries', 'x' || $1, 1000000)`, []problem{noEffect, neverIssued}},
		{"an unfinished marker", `select state from queen.kv_once_begin_v1('deliveries', 'x' || $1, 1000000)`,
			[]problem{noEffect, neverIssued}},
		{"an effect of nothing", "insert into ledger (delivery) values ('x' || $1)", []problem{noMarker, neverIssued}},
	} {
		t.Run(plant.what, func(t *testing.T) {
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(context.WithoutCancel(t.Context()))
			if _, err := tx.Exec(t.Context(), plant.sql, l.acks[3].delivery); err != nil {
				t.Fatal(err)
			}
			expect(t, findings(t, l, tx), plant.want)
		})
	}
}

// wrong: loads that are wrong are caught by the faults that the right one comes through.
func wrong(t *testing.T, c *cluster.Cluster) {
	for i, load := range []struct {
		what string
		way  way
		want []problem
	}{
		{"Once", once, nil},
		{"the effect alone", effectAlone, []problem{doubled, noMarker}},
		{"the marker before its effect", markerFirst, []problem{noEffect, lost}},
		{"the effect before its marker", effectFirst, []problem{doubled}},
	} {
		t.Run(load.what, func(t *testing.T) {
			u := newDatabase(t, c, fmt.Sprintf("wrong_%d", i))
			l := newLoad(t, u, load.way, rand.New(rand.NewPCG(1, uint64(i))), 0)
			l.run(t, func() {
				// Of two transactions for a delivery the cut takes either; twelve cuts take both.
				for n := range 3 * goroutines {
					f := fault{kind: socketCut, at: answered, lane: n % goroutines}
					if _, err := f.strike(t.Context(), l, c); err != nil {
						t.Errorf("%s: %v", f, err)
						return
					}
				}
			})
			conn, err := pgx.Connect(t.Context(), u.String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.WithoutCancel(t.Context()))
			expect(t, findings(t, l, conn), load.want)
		})
	}
}

// effectAlone forgets Once: an attempt of unknown outcome books again.
func effectAlone(ctx context.Context, conn *pgx.Conn, level pgx.TxIsoLevel, key string) (a answer, err error) {
	err = transaction(ctx, conn, level, func(tx pgx.Tx) error {
		a.row, err = effect(ctx, tx, key)
		return err
	})
	return a, err
}

// markerFirst commits the marker by itself. The row's number has to be known before the row is there.
func markerFirst(ctx context.Context, conn *pgx.Conn, level pgx.TxIsoLevel, key string) (a answer, err error) {
	err = transaction(ctx, conn, level, func(tx pgx.Tx) error {
		a, err = mark(ctx, tx, key, func() (row int64, err error) {
			err = tx.QueryRow(ctx, "select nextval(pg_get_serial_sequence('ledger', 'id'))").Scan(&row)
			return row, err
		})
		return err
	})
	if err != nil || a.replayed {
		return a, err
	}
	return a, transaction(ctx, conn, level, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "insert into ledger overriding system value values ($1, $2)", a.row, key)
		return err
	})
}

// effectFirst commits the effect by itself, unless there is a marker.
func effectFirst(ctx context.Context, conn *pgx.Conn, level pgx.TxIsoLevel, key string) (a answer, err error) {
	var marked bool
	var row int64
	err = transaction(ctx, conn, level, func(tx pgx.Tx) error {
		if _, marked, err = kvpg.Get(ctx, tx, deliveries, key); err != nil || marked {
			return err
		}
		row, err = effect(ctx, tx, key)
		return err
	})
	if err != nil {
		return a, err
	}
	err = transaction(ctx, conn, level, func(tx pgx.Tx) error {
		a, err = mark(ctx, tx, key, func() (int64, error) { return row, nil })
		return err
	})
	return a, err
}

// mark is Once whose function only says the row.
func mark(ctx context.Context, tx pgx.Tx, key string, row func() (int64, error)) (a answer, err error) {
	r, err := kvpg.Once(ctx, tx, deliveries, key, retention, func(context.Context) ([]byte, error) {
		n, err := row()
		return []byte(strconv.FormatInt(n, 10)), err
	}, nil)
	if err != nil {
		return a, err
	}
	a.replayed = r.Replayed
	a.row, err = strconv.ParseInt(string(r.Result), 10, 64)
	return a, err
}

func findings(t *testing.T, l *load, db querier) []finding {
	t.Helper()
	r, err := read(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return check(l.issued, l.acks, r)
}

// expect wants each of the problems found, and no others.
func expect(t *testing.T, found []finding, want []problem) {
	t.Helper()
	left := map[problem]bool{}
	for _, p := range want {
		left[p] = true
	}
	seen := map[problem]bool{}
	for _, f := range found {
		seen[f.problem] = true
		if !left[f.problem] {
			t.Errorf("not expected: %v", f)
		}
	}
	for p := range left {
		if !seen[p] {
			t.Errorf("not found: %s", p)
		}
	}
}
