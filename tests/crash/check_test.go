package crash

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

// An ack is what a client was told after its COMMIT: the effect of this delivery is done, and is this row.
type ack struct {
	delivery string
	row      int64
}

// A record is what the database holds at the end.
type record struct {
	ledger  map[int64]string  // the delivery of each row
	markers map[string]string // the result of each finished marker; any other kind of marker stands as "state ..."
}

// A finding is a broken promise.
type finding struct {
	problem  problem
	delivery string
	detail   string
}

// A problem is a kind of finding.
type problem string

const (
	doubled     problem = "the effect is there twice"
	lost        problem = "acknowledged, and not there"
	noMarker    problem = "an effect without a marker"
	noEffect    problem = "a marker without its effect"
	neverIssued problem = "nobody asked for it"
)

func (f finding) String() string { return fmt.Sprintf("%s: %s: %s", f.delivery, f.problem, f.detail) }

// check compares what was asked for and what was acknowledged with what is there.
func check(issued []string, acks []ack, r record) []finding {
	var found []finding
	report := func(p problem, delivery, format string, args ...any) {
		found = append(found, finding{p, delivery, fmt.Sprintf(format, args...)})
	}
	asked := map[string]bool{}
	for _, delivery := range issued {
		asked[delivery] = true
	}
	rows := map[string][]int64{}
	for _, row := range slices.Sorted(maps.Keys(r.ledger)) {
		delivery := r.ledger[row]
		rows[delivery] = append(rows[delivery], row)
	}
	for delivery, rows := range rows {
		if len(rows) > 1 {
			report(doubled, delivery, "rows %d", rows)
		}
		if _, ok := r.markers[delivery]; !ok {
			report(noMarker, delivery, "row %d", rows[0])
		}
		if !asked[delivery] {
			report(neverIssued, delivery, "row %d", rows[0])
		}
	}
	for delivery, result := range r.markers {
		if row, err := strconv.ParseInt(result, 10, 64); err != nil || r.ledger[row] != delivery {
			report(noEffect, delivery, "the marker says %q, the ledger has rows %d", result, rows[delivery])
		}
		if !asked[delivery] {
			report(neverIssued, delivery, "a marker")
		}
	}
	for _, a := range acks {
		if r.ledger[a.row] != a.delivery {
			report(lost, a.delivery, "row %d; the ledger has rows %d", a.row, rows[a.delivery])
		}
	}
	return found
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// read reads the ledger as it is, and each marker through the function that answers a duplicate.
func read(ctx context.Context, db querier) (record, error) {
	r := record{ledger: map[int64]string{}, markers: map[string]string{}}
	var row int64
	var delivery, result string
	rows, err := db.Query(ctx, "select id, delivery from ledger")
	if err != nil {
		return r, err
	}
	_, err = pgx.ForEachRow(rows, []any{&row, &delivery}, func() error { r.ledger[row] = delivery; return nil })
	if err != nil {
		return r, err
	}
	rows, err = db.Query(ctx, `select key, case state when 'replay' then convert_from(result, 'UTF8') else 'state ' || state end
		from queen.kv, queen.kv_once_begin_v1(namespace, key, 1000) where namespace = 'deliveries'`)
	if err != nil {
		return r, err
	}
	_, err = pgx.ForEachRow(rows, []any{&delivery, &result}, func() error { r.markers[delivery] = result; return nil })
	return r, err
}

// TestCheck needs no server: a planted double and a planted loss are found, and nothing where all is well.
func TestCheck(t *testing.T) {
	t.Parallel()
	issued := []string{"a", "b"}
	acks := []ack{{"a", 1}, {"a", 1}, {"b", 2}}
	markers := map[string]string{"a": "1", "b": "2"}
	for _, c := range []struct {
		what   string
		ledger map[int64]string
		want   []problem
	}{
		{"all is well", map[int64]string{1: "a", 2: "b"}, nil},
		{"a double", map[int64]string{1: "a", 2: "b", 3: "b"}, []problem{doubled}},
		{"a loss", map[int64]string{1: "a"}, []problem{noEffect, lost}},
	} {
		t.Run(c.what, func(t *testing.T) { expect(t, check(issued, acks, record{c.ledger, markers}), c.want) })
	}
}
