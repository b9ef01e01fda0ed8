package linear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

const namespace = "linear"

// A client is one session. Its transactions have the isolation of its connection.
type client struct {
	*pgx.Conn
	retries int // transactions that failed with 40001 and were run again
}

func newClient(t *testing.T, db *testdb.DB, isolation string) *client {
	return &client{Conn: db.Conn(t, func(cfg *pgx.ConnConfig) {
		cfg.RuntimeParams["default_transaction_isolation"] = isolation
		cfg.RuntimeParams["statement_timeout"] = "60s" // a test that hangs is told from one that is slow
	})}
}

// A fate is how the transaction of a call ends.
type fate int

const (
	alone      fate = iota // the call is the transaction
	committed              // in a transaction of two statements, which keeps its locks for longer
	rolledBack             // in a transaction that comes to nothing
)

// do makes the call, again and again while it fails with 40001, since a failed transaction had no effect. called is
// when the last attempt began.
func (c *client) do(ctx context.Context, what call, end fate) (a answer, called time.Time, err error) {
	for {
		called = time.Now()
		a, err = c.attempt(ctx, what, end)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "40001" {
			return a, called, err
		}
		c.retries++
	}
}

func (c *client) attempt(ctx context.Context, what call, end fate) (answer, error) {
	if end == alone {
		return ask(ctx, c.Conn, what)
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return answer{}, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	// What is read back here is read by a call of its own, since one op and several are run by different code.
	op := what
	op.readBack = false
	a, err := ask(ctx, tx, op)
	if err == nil && what.readBack {
		a.readBack, err = readBack(ctx, tx, what.key)
	}
	if err == nil && end == committed {
		err = tx.Commit(ctx)
	}
	return a, err
}

// readBack reads what the transaction left, as of a time at which nothing written here has expired.
func readBack(ctx context.Context, tx queryer, key string) (*row, error) {
	const sql = `select queen.kv_apply_v1(jsonb_build_array(jsonb_build_object('op', 'get', 'ns', $1::text, 'key', $2::text)),
		p_now => '2020-01-01Z')::text`
	var text string
	if err := tx.QueryRow(ctx, sql, namespace, key).Scan(&text); err != nil {
		return nil, err
	}
	var results []resultJSON
	if err := json.Unmarshal([]byte(text), &results); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	r := results[0].row()
	return &r, nil
}

type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// The select list is evaluated from left to right: the instant of the call is between the two clocks. kv_get_v1's own is
// the start of the statement.
const (
	applySQL = `select statement_timestamp(), queen.kv_apply_v1($1::jsonb)::text, clock_timestamp()`
	readSQL  = `select statement_timestamp(), coalesce((
		select jsonb_build_array(jsonb_build_object('found', true, 'value', g.value, 'version', g.version, 'expiresAt', g.expires_at))
		from queen.kv_get_v1($1, $2) as g), '[{"found": false}]')::text, clock_timestamp()`
)

type opJSON struct {
	Op      string          `json:"op"`
	NS      string          `json:"ns"`
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value,omitempty"`
	TTLMs   int64           `json:"ttlMs,omitempty"`
	Forever bool            `json:"forever,omitempty"`
	Expect  *int64          `json:"expect,omitempty"`
	Delta   *int64          `json:"delta,omitempty"`
	Min     *int64          `json:"min,omitempty"`
	Max     *int64          `json:"max,omitempty"`
}

type resultJSON struct {
	Found, Applied bool
	Reason         string
	Value          json.RawMessage
	Version        int64
	ExpiresAt      *time.Time
}

func (r resultJSON) row() row {
	if r.Version == 0 {
		return row{}
	}
	out := row{value: string(r.Value), version: r.Version}
	if r.ExpiresAt != nil {
		out.expires = r.ExpiresAt.UnixMicro()
	}
	return out
}

func ask(ctx context.Context, db queryer, c call) (answer, error) {
	var from, to time.Time
	var text string
	var err error
	if c.op == "read" {
		err = db.QueryRow(ctx, readSQL, namespace, c.key).Scan(&from, &text, &to)
	} else {
		var ops []byte
		if ops, err = json.Marshal(c.wire()); err != nil {
			return answer{}, err
		}
		err = db.QueryRow(ctx, applySQL, string(ops)).Scan(&from, &text, &to)
	}
	if err != nil {
		return answer{}, err
	}
	var results []resultJSON
	if err := json.Unmarshal([]byte(text), &results); err != nil {
		return answer{}, fmt.Errorf("%s: %w", text, err)
	}
	a := answer{from: from.UnixMicro(), to: to.UnixMicro(), applied: results[0].Applied || results[0].Found,
		reason: results[0].Reason, row: results[0].row()}
	if c.readBack {
		after := results[1].row()
		a.readBack = &after
	}
	return a, nil
}

func (c call) wire() []opJSON {
	op := opJSON{Op: c.op, NS: namespace, Key: c.key, Value: json.RawMessage(c.value)}
	if c.op != "get" && c.op != "delete" {
		op.TTLMs, op.Forever = c.ttl/1000, c.ttl == 0
	}
	if c.expect != noExpect {
		op.Expect = &c.expect
	}
	if c.op == "incr" {
		op.Delta = &c.delta
		if c.bounded {
			op.Min, op.Max = &c.min, &c.max
		}
	}
	ops := []opJSON{op}
	if c.readBack {
		ops = append(ops, opJSON{Op: "get", NS: namespace, Key: c.key})
	}
	return ops
}
