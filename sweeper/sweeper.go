package sweeper

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// A Sweeper holds settings and a handle, and no state between calls; it may be used by several goroutines.
type Sweeper struct {
	db     DB
	opts   Options
	fault  error // what is wrong with opts
	random func() float64
}

// New makes a sweeper over a pool. It sends nothing, and leaves it to the methods to say what is wrong with the options.
func New(db DB, opts *Options) *Sweeper {
	return &Sweeper{db: db, opts: withDefaults(opts), fault: opts.fault(), random: rand.Float64}
}

// Run sweeps and measures until ctx ends, and then returns nil, within Options.StopGrace. It gives no error back, but for
// options that can't be meant: it logs them, tells them to Hooks.Error, and tries again after a pause, also when the server is gone for
// hours or the schema is not there yet. Ask [Sweeper.Check] before, for what a person has to put right.
func (s *Sweeper) Run(ctx context.Context) error {
	if s.fault != nil {
		return s.fault
	}
	now := s.opts.Clock.Now()
	expiry, usage := &expiryTask{run: s.newPass()}, &usageTask{sweeper: s, fault: s.retry()}
	expiry.duty = duty{cycle: s.opts.DutyCycle, most: s.opts.MaxIdle}
	expiry.idle = backoff{least: s.opts.MinIdle, most: s.opts.MaxIdle, random: s.random}
	tasks := []*scheduled{{at: now, turn: expiry.turn}}
	if s.opts.UsageEvery > 0 {
		tasks = append(tasks, &scheduled{at: now, turn: usage.turn})
	}
	for ctx.Err() == nil {
		// The one that has been due for longest: where both have much to do, they take turns.
		next := tasks[0]
		for _, t := range tasks[1:] {
			if t.at.Before(next.at) {
				next = t
			}
		}
		if wait := next.at.Sub(s.opts.Clock.Now()); wait > 0 {
			s.opts.Clock.Sleep(ctx, wait)
			continue
		}
		wait := next.turn(ctx)
		next.at = s.opts.Clock.Now().Add(wait)
	}
	return nil
}

type scheduled struct {
	at   time.Time
	turn func(context.Context) (pause time.Duration)
}

type expiryTask struct {
	run  *pass
	duty duty
	idle backoff
}

func (t *expiryTask) turn(ctx context.Context) time.Duration {
	began := t.run.sweeper.opts.Clock.Now()
	step, err := t.run.step(ctx, 0)
	if err != nil {
		pause := t.run.fault.next()
		if ClassOf(err) == Timeout { // the server was at work until then
			t.duty.add(t.run.sweeper.opts.Clock.Now().Sub(began))
			pause = max(pause, t.duty.rest())
		}
		return pause
	}
	t.run.fault.reset()
	t.duty.add(step.Took)
	if step.Deleted > 0 {
		t.idle.reset()
	}
	if !t.run.drained {
		return t.duty.between(step.Lag)
	}
	return t.duty.drained(t.idle.next())
}

type usageTask struct {
	sweeper *Sweeper
	after   string
	fault   backoff
}

func (t *usageTask) turn(ctx context.Context) time.Duration {
	step, err := t.sweeper.usageStep(ctx, t.after)
	if err != nil {
		return t.fault.next()
	}
	t.fault.reset()
	t.after = step.nextAfter
	if t.after != "" {
		return 0
	}
	every := t.sweeper.opts.UsageEvery
	return every - time.Duration(t.sweeper.random()*float64(every)/10)
}

// usageStep measures, and tells the hooks.
func (s *Sweeper) usageStep(ctx context.Context, after string) (UsageStep, error) {
	step, err := s.measure(ctx, after)
	if err != nil {
		s.failed(ctx, err)
		return step, err
	}
	s.opts.Logger.DebugContext(ctx, "measured", slog.Int("tenants", step.Tenants), slog.Duration("took", step.Took))
	if f := s.opts.Hooks.Usage; f != nil {
		f(step)
	}
	if f := s.opts.Hooks.Measured; f != nil && step.nextAfter == "" {
		f()
	}
	return step, nil
}

func (s *Sweeper) retry() backoff {
	return backoff{least: s.opts.MinRetry, most: s.opts.MaxRetry, random: s.random}
}

// failed tells of an error, unless it is that we were stopped.
func (s *Sweeper) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		return
	}
	s.opts.Logger.WarnContext(ctx, "a step failed", slog.String("doing", e.Doing), slog.String("class", string(e.Class)), slog.Any("error", err))
	if f := s.opts.Hooks.Error; f != nil {
		f(e)
	}
}
