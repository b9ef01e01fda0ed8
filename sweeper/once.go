package sweeper

import (
	"context"
	"time"
)

// End is why a RunOnce ended.
type End string

// The ends of a RunOnce.
const (
	Drained     End = "drained"     // no expired row is left but those that others hold
	OutOfTime   End = "out_of_time" // Options.MaxTime is over
	OutOfRows   End = "out_of_rows" // Options.MaxRows are deleted
	Interrupted End = "interrupted" // the context ended
	Failed      End = "failed"      // with an error
)

// Result is what a RunOnce did.
type Result struct {
	End      End
	Steps    int
	Deleted  int64
	Took     time.Duration
	Left     int64         // expired rows left, as far as the last step looked; 0 where none is known
	Capped   bool          // there may be more of them
	Lag      time.Duration // how long ago the oldest of them expired
	Tenants  int           // how many were measured
	Measured bool          // all tenants were
}

// RunOnce deletes what has expired, to the end or as far as the budget goes (Options.MaxTime, MaxRows), and measures all
// tenants, beginning after the one that was measured last. When less than half of the time is left and tenants are not measured
// yet, steps of the two take turns.
//
// When a budget ran out it looks whether expired rows are left: if not, the end is Drained all the same. When ctx ends it
// stops after the step under way, without an error: Interrupted, unless all was deleted. The result is right beside an error too.
func (s *Sweeper) RunOnce(ctx context.Context) (Result, error) {
	if s.fault != nil {
		return Result{End: Failed}, s.fault
	}
	o := &once{sweeper: s, pass: s.newPass(), began: s.opts.Clock.Now(), usageFault: s.retry()}
	err := o.run(ctx)
	switch {
	case err != nil:
	case o.drained:
		o.result.End = Drained
	case !ended(ctx):
		err = o.look(ctx)
	}
	if err != nil {
		o.result.End = Failed
	}
	o.result.Took = s.opts.Clock.Now().Sub(o.began)
	return o.result, err
}

type once struct {
	sweeper    *Sweeper
	pass       *pass
	began      time.Time
	result     Result
	errors     int // in a row
	drained    bool
	usageFault backoff

	// Measuring begins after the tenant that was measured last, and comes round, so that short budgets reach all in the end.
	begun   bool
	first   string // where it began
	after   string // where it is
	wrapped bool   // it has come round
}

func (o *once) run(ctx context.Context) error {
	opts := &o.sweeper.opts
	for {
		spent := opts.Clock.Now().Sub(o.began)
		switch {
		case o.drained && o.measured():
			return nil
		case ended(ctx):
			o.result.End = Interrupted
			return nil
		case opts.MaxTime > 0 && spent >= opts.MaxTime:
			o.result.End = OutOfTime
			return nil
		case opts.MaxRows > 0 && o.result.Deleted >= opts.MaxRows && o.measured():
			o.result.End = OutOfRows
			return nil
		}
		if err := o.turn(ctx, spent); err != nil {
			return err
		}
	}
}

// measured tells that nothing is left to measure.
func (o *once) measured() bool { return o.result.Measured || o.sweeper.opts.UsageEvery < 0 }

// turn is a step of expiry, of measuring, or of both.
func (o *once) turn(ctx context.Context, spent time.Duration) error {
	opts := &o.sweeper.opts
	rowsOver := opts.MaxRows > 0 && o.result.Deleted >= opts.MaxRows
	if !o.drained && !rowsOver {
		step, err := o.pass.step(ctx, max(0, opts.MaxRows-o.result.Deleted))
		if err != nil {
			return o.bear(ctx, err, &o.pass.fault)
		}
		o.errors = 0
		o.pass.fault.reset()
		o.result.Steps++
		o.result.Deleted += step.Deleted
		o.result.Left, o.result.Capped, o.result.Lag = step.Unpruned, step.Capped, step.Lag
		o.drained = o.pass.drained
	}
	late := opts.MaxTime > 0 && 2*spent >= opts.MaxTime
	isTime := o.drained || rowsOver || late
	if o.measured() || ended(ctx) || !isTime {
		return nil
	}
	if err := o.measure(ctx); err != nil {
		return o.bear(ctx, err, &o.usageFault)
	}
	o.errors = 0
	o.usageFault.reset()
	return nil
}

// measure is a step of measuring.
func (o *once) measure(ctx context.Context) (err error) {
	if !o.begun {
		if o.first, err = o.sweeper.lastMeasured(ctx); err != nil {
			o.sweeper.failed(ctx, err)
			return err
		}
		o.begun, o.after, o.wrapped = true, o.first, o.first == ""
	}
	step, err := o.sweeper.usageStep(ctx, o.after)
	if err != nil {
		return err
	}
	o.result.Tenants += step.Tenants
	o.after = step.nextAfter
	// UUIDs as the database writes them are in the order of their bytes.
	o.result.Measured = o.wrapped && (o.after == "" || o.first != "" && o.after >= o.first)
	o.wrapped = o.wrapped || o.after == ""
	return nil
}

// bear gives an error back, or nil after a pause where another attempt may cure it.
func (o *once) bear(ctx context.Context, err error, fault *backoff) error {
	if ended(ctx) {
		return nil // the loop sees it
	}
	o.errors++
	if ClassOf(err).Lasting() || o.errors > max(0, o.sweeper.opts.Retries) {
		return err
	}
	pause := fault.next()
	if most := o.sweeper.opts.MaxTime; most > 0 && o.sweeper.opts.Clock.Now().Add(pause).Sub(o.began) >= most {
		return err // the budget would run out asleep
	}
	o.sweeper.opts.Clock.Sleep(ctx, pause)
	return nil
}

// look tells whether a budget that ran out left anything.
func (o *once) look(ctx context.Context) error {
	backlog, err := o.sweeper.Backlog(ctx, 1000)
	if err != nil {
		return err
	}
	if backlog.Rows == 0 {
		o.result.End = Drained
	}
	// The last step may have seen more than this look.
	if !backlog.Capped || o.result.Left < backlog.Rows {
		o.result.Left = backlog.Rows
	}
	o.result.Capped, o.result.Lag = backlog.Capped, backlog.Lag
	return nil
}

// ended tells that somebody wants us to stop, which is no error.
func ended(ctx context.Context) bool { return ctx.Err() != nil }
