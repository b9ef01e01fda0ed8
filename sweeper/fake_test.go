package sweeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// fakeDB answers the two steps from a plan, without a database.
type fakeDB struct {
	clock  *fakeClock
	expire func(rows int, from string) (answer string, took time.Duration, err error)
	usage  func(after string) (answer string, err error)
	look   int64  // what a look at the backlog finds
	last   string // the tenant that was measured last

	calls     []string // "expire 1000 from", "usage after", "look"
	timeouts  []string // what statement_timeout was set to
	committed int
}

func (d *fakeDB) BeginTx(context.Context, pgx.TxOptions) (pgx.Tx, error) {
	return &fakeTx{db: d}, nil
}

// expired counts the calls of the step of expiry.
func (d *fakeDB) expired() (n int) {
	for _, c := range d.calls {
		if strings.HasPrefix(c, "expire") {
			n++
		}
	}
	return n
}

type fakeTx struct {
	pgx.Tx
	db *fakeDB
}

func (t *fakeTx) Exec(_ context.Context, _ string, args ...any) (pgconn.CommandTag, error) {
	if len(args) > 0 {
		t.db.timeouts = append(t.db.timeouts, fmt.Sprint(args[0]))
	}
	return pgconn.CommandTag{}, nil
}

func (t *fakeTx) Commit(context.Context) error   { t.db.committed++; return nil }
func (t *fakeTx) Rollback(context.Context) error { return nil }

func (t *fakeTx) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	switch {
	case strings.Contains(sql, "kv_expire_step_v1"):
		rows, _ := strconv.Atoi(args[0].(string))
		t.db.calls = append(t.db.calls, fmt.Sprintf("expire %d %s", rows, args[1]))
		answer, took, err := t.db.expire(rows, args[1].(string))
		t.db.clock.advance(took)
		return row{[]any{answer}, err}
	case strings.Contains(sql, "kv_usage_step_v1"):
		t.db.calls = append(t.db.calls, fmt.Sprintf("usage %s", args[1]))
		answer, err := t.db.usage(args[1].(string))
		return row{[]any{answer}, err}
	case strings.Contains(sql, "from queen.kv_usage"):
		return row{[]any{t.db.last}, nil}
	default:
		t.db.calls = append(t.db.calls, "look")
		return row{[]any{t.db.look, t.db.look}, nil}
	}
}

type row struct {
	values []any
	err    error
}

func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	for i, d := range dest {
		switch d := d.(type) {
		case *string:
			*d = r.values[i].(string)
		case *int64:
			*d = r.values[i].(int64)
		default:
			return errors.New("fake: no such type")
		}
	}
	return nil
}

// fakeClock moves when somebody sleeps or a step takes time, and ends a test's loop when its time is over.
type fakeClock struct {
	now    time.Time
	slept  []time.Duration
	until  time.Time
	cancel context.CancelFunc
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) Sleep(_ context.Context, d time.Duration) {
	c.slept = append(c.slept, d)
	c.advance(d)
}

func (c *fakeClock) advance(d time.Duration) {
	c.now = c.now.Add(d)
	if c.cancel != nil && !c.now.Before(c.until) {
		c.cancel()
	}
}

// stepJSON is an answer of kv_expire_step_v1; an empty next is null.
func stepJSON(deleted int, done bool, next string) string {
	from := "null"
	if next != "" {
		from = strconv.Quote(next)
	}
	return fmt.Sprintf(`{"deleted": %d, "done": %t, "nextFrom": %s, "unpruned": 0, "unprunedCapped": false, "lagMs": 0}`, deleted, done, from)
}

// laggingJSON is an answer in the middle of a pass, which has left rows.
func laggingJSON(lag time.Duration) string {
	return fmt.Sprintf(`{"deleted": 1000, "done": false, "nextFrom": "A", "unpruned": 9, "unprunedCapped": true, "lagMs": %d}`, lag.Milliseconds())
}

const measuredJSON = `{"tenants": 1, "sampled": 0, "busy": 0, "done": true, "nextAfter": null}`

func pgError(code, message string) error { return &pgconn.PgError{Code: code, Message: message} }

// without is a sweeper over a fake, without randomness.
func without(d *fakeDB, opts Options) *Sweeper {
	if d.clock == nil {
		d.clock = newFakeClock()
	}
	if d.usage == nil {
		d.usage = func(string) (string, error) { return measuredJSON, nil }
	}
	opts.Clock = d.clock
	s := New(d, &opts)
	s.random = func() float64 { return 0 }
	return s
}
