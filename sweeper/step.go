package sweeper

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// DB is what a sweeper needs: *pgxpool.Pool has it. A *pgx.Conn has it too, but does not come back when the server restarts.
type DB interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// Step is what one step of expiry did.
type Step struct {
	Allowed  int           // how many rows it might delete
	Deleted  int64         //
	Unpruned int64         // expired rows left, as far as the step looked
	Capped   bool          // there may be more of them
	Lag      time.Duration // how long ago the oldest row expired that is left; 0: none is
	Done     bool          // no expired row is left but those that others hold
	Took     time.Duration // from BEGIN to COMMIT

	nextFrom string // where the next step of the pass begins; empty: the pass is over
}

// UsageStep is what one step of measuring did.
type UsageStep struct {
	Tenants int // how many were measured
	Sampled int // how many of those are estimates
	Busy    int // how many were left to another sweeper, who was at them
	Done    bool
	Took    time.Duration

	nextAfter string
}

// The arguments cross as text, which all of pgx's modes send alike. p_now is NULL: the server's clock decides.
const (
	expireSQL = `select queen.kv_expire_step_v1(array(select generate_series(0, 63)::smallint), null, $1::text::integer,
		nullif($2::text, '')::timestamptz)::text`
	// A measurement from the future is nobody's last.
	lastMeasuredSQL = `select coalesce((select u.tenant_id::text from queen.kv_usage as u where u.computed_at <= clock_timestamp()
		order by u.computed_at desc, u.tenant_id desc limit 1), '')`
	usageSQL = `select queen.kv_usage_step_v1(null, $1::text::integer, nullif($2::text, '')::uuid)::text`
)

// expire runs one step from where the last one ended.
func (s *Sweeper) expire(ctx context.Context, rows int, from string) (Step, error) {
	var answer struct {
		Deleted        int64   `json:"deleted"`
		Done           bool    `json:"done"`
		NextFrom       *string `json:"nextFrom"`
		Unpruned       int64   `json:"unpruned"`
		UnprunedCapped bool    `json:"unprunedCapped"`
		LagMs          int64   `json:"lagMs"`
	}
	took, err := s.call(ctx, "expire", &answer, expireSQL, strconv.Itoa(rows), from)
	if err != nil {
		return Step{}, err
	}
	return Step{
		Allowed: rows, Deleted: answer.Deleted, Unpruned: answer.Unpruned, Capped: answer.UnprunedCapped,
		Lag: time.Duration(answer.LagMs) * time.Millisecond, Done: answer.Done, Took: took, nextFrom: deref(answer.NextFrom),
	}, nil
}

// measure runs one step from the tenant after the last one.
func (s *Sweeper) measure(ctx context.Context, after string) (UsageStep, error) {
	var answer struct {
		Tenants   int     `json:"tenants"`
		Sampled   int     `json:"sampled"`
		Busy      int     `json:"busy"`
		Done      bool    `json:"done"`
		NextAfter *string `json:"nextAfter"`
	}
	took, err := s.call(ctx, "usage", &answer, usageSQL, strconv.Itoa(s.opts.UsageTenants), after)
	if err != nil {
		return UsageStep{}, err
	}
	return UsageStep{Tenants: answer.Tenants, Sampled: answer.Sampled, Busy: answer.Busy, Done: answer.Done, Took: took,
		nextAfter: deref(answer.NextAfter)}, nil
}

// lastMeasured is the tenant that was measured last, by whomever; empty when none was.
func (s *Sweeper) lastMeasured(ctx context.Context) (tenant string, err error) {
	ctx, cancel := s.stepContext(ctx)
	defer cancel()
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, lastMeasuredSQL).Scan(&tenant)
	})
	return tenant, errorOf("usage", err)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// call runs a statement that answers one JSON text, in a transaction of its own under the step's timeout.
func (s *Sweeper) call(ctx context.Context, doing string, answer any, sql string, args ...any) (time.Duration, error) {
	ctx, cancel := s.stepContext(ctx)
	defer cancel()
	began := s.opts.Clock.Now()
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		var text string
		if err := tx.QueryRow(ctx, sql, args...).Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			return fmt.Errorf("the answer of the database: %w", err)
		}
		return nil
	})
	return s.opts.Clock.Now().Sub(began), errorOf(doing, err)
}

func (s *Sweeper) inTx(ctx context.Context, do func(pgx.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer func() {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = tx.Rollback(undo) // nothing after a commit
	}()
	timeout := strconv.FormatInt(s.opts.StepTimeout.Milliseconds(), 10)
	if _, err := tx.Exec(ctx, "select set_config('statement_timeout', $1::text, true)", timeout); err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// unanswered is how much longer than the server's own timeout a step is waited for: then the connection is dead.
const unanswered = 2 * time.Second

// stepContext bounds a step on this side, and lets it outlive ctx by the grace.
func (s *Sweeper) stepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	step, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.StepTimeout+unanswered)
	stop := context.AfterFunc(ctx, func() {
		if s.opts.StopGrace > 0 {
			machineClock{}.Sleep(step, s.opts.StopGrace)
		}
		cancel()
	})
	return step, func() { stop(); cancel() }
}
