package conformance

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// One op and several ops of a call are run by different code, and answer alike.

// TestOneByOne makes each call of several single-key ops as so many calls, one after the other: the contract runs the ops on
// one key in input order, and those on other keys don't touch it.
func TestOneByOne(t *testing.T) {
	t.Parallel()
	playWith(t, oneByOne)
}

// TestBesideAnother makes each call of one op with a get of another namespace behind it.
func TestBesideAnother(t *testing.T) {
	t.Parallel()
	playWith(t, besideAnother)
}

// A form makes a call in another way, and returns no results for a call that has no such form.
type form func(ctx context.Context, call func(ops ...any) ([]any, error), ops []any) ([]any, error)

// playWith plays all cases, and fails when no call of theirs was made in another form.
func playWith(t *testing.T, f form) {
	t.Helper()
	db := testdb.New(t, nil)
	p := &Player{Conn: db.Conn(t, settings(nil)).PgConn(), State: db.Conn(t).PgConn()}
	changed := f.in(p)
	playAll(t, p)
	if *changed == 0 && !t.Failed() {
		t.Error("no call was made in another form: nothing is shown")
	}
}

// in lets a player make its calls in the form, and returns where those are counted that were.
func (f form) in(p *Player) (changed *int) {
	changed = new(int)
	p.Call = func(ctx context.Context, conn *pgconn.PgConn, ops, tenant, now, inWire []byte) ([]byte, error) {
		v, err := parse(ops)
		list, _ := v.([]any)
		if err != nil || list == nil || now == nil {
			return Direct(ctx, conn, ops, tenant, now, inWire)
		}
		if err := conn.Exec(ctx, "begin").Close(); err != nil {
			return nil, err
		}
		results, err := f(ctx, func(ops ...any) ([]any, error) {
			text, err := json.Marshal(ops)
			if err != nil {
				return nil, err
			}
			answer, err := Direct(ctx, conn, text, tenant, now, inWire)
			if err != nil {
				return nil, err
			}
			v, err := parse(answer)
			results, _ := v.([]any)
			return results, err
		}, list)
		if err != nil || results == nil {
			// An error, which has another index here, or a call that has no other form.
			if err := conn.Exec(ctx, "rollback").Close(); err != nil {
				return nil, err
			}
			return Direct(ctx, conn, ops, tenant, now, inWire)
		}
		*changed++
		if err := conn.Exec(ctx, "commit").Close(); err != nil {
			return nil, err
		}
		return json.Marshal(results)
	}
	return changed
}

func oneByOne(_ context.Context, call func(ops ...any) ([]any, error), ops []any) ([]any, error) {
	if len(ops) < 2 || len(ops) > 64 { // more may be too many, which each one is not
		return nil, nil
	}
	results := make([]any, len(ops))
	for i, element := range ops {
		op, _ := element.(map[string]any)
		if op["key"] == nil {
			return nil, nil
		}
		one, err := call(op)
		if err != nil {
			return nil, err
		}
		result, _ := one[0].(map[string]any)
		result["index"] = i
		results[i] = result
	}
	return results, nil
}

func besideAnother(_ context.Context, call func(ops ...any) ([]any, error), ops []any) ([]any, error) {
	if len(ops) != 1 {
		return nil, nil
	}
	results, err := call(ops[0], map[string]any{"op": "get", "ns": "another", "key": "k"})
	if err != nil {
		return nil, err
	}
	return results[:1], nil
}
