package sweeper

import (
	"fmt"
	"log/slog"
	"math"
	"time"
)

// Options are settings of a [Sweeper]; nil, and the zero of each field, means the default. A number or a time below zero, where none is
// said to have a meaning, can only be a mistake (a budget that was overdrawn, say): with it every method gives an [*Error] of the class
// [Config], and sends nothing.
type Options struct {
	// StepTarget is how long a step should take, 100 ms by default. It is how long a writer may have to wait for a row that
	// is being deleted. The batch grows and shrinks to meet it.
	StepTarget time.Duration

	// StepTimeout ends a step on the server (statement_timeout) and halves the next batch. 5 s by default, at least 1 ms, and at
	// most 24 days, which is PostgreSQL's own bound: what is outside is brought there. A connection that doesn't answer is given up
	// two seconds later.
	StepTimeout time.Duration

	// FirstBatch, MinBatch and MaxBatch bound how many rows one step may delete: 1,000, 100 and 10,000 by default. None is
	// above 1,000,000, MinBatch not above MaxBatch, and FirstBatch is between them: what is outside is brought there.
	FirstBatch, MinBatch, MaxBatch int

	// DutyCycle is the greatest share of its time that Run spends deleting: 0.1 by default, from 0.01 to 1, which is never to rest; what
	// is outside is brought there. While there is a backlog Run deletes for half a second, and rests for as long as makes up for
	// it, for MaxIdle at most: few long rests are easier on others than many short ones. It does not rest when what was left before
	// the last rest has only become older since: it would stay behind. RunOnce never rests.
	DutyCycle float64

	// MinIdle and MaxIdle are the pauses of Run when nothing is left to delete: the first, doubled each time up to the
	// last, and shortened at random by up to half. 1 s and 30 s by default.
	MinIdle, MaxIdle time.Duration

	// MinRetry and MaxRetry are the pauses after errors, in the same way. 250 ms and 30 s by default.
	MinRetry, MaxRetry time.Duration

	// UsageEvery is how often Run measures all tenants: 5 minutes by default, never when negative. RunOnce measures once,
	// not when it is negative.
	UsageEvery time.Duration

	// UsageTenants is how many tenants one step measures at most, 100 by default.
	UsageTenants int

	// MaxTime and MaxRows are the budget of one RunOnce; 0 is no bound. The time is looked at between steps.
	MaxTime time.Duration
	MaxRows int64

	// Retries is how many errors in a row RunOnce bears before it gives up, 5 by default, none when negative. An error that
	// another attempt won't cure ([Class.Lasting]) ends it at once. Run bears all.
	Retries int

	// StopGrace is how long a step that is under way may go on when the context ends, 2 s by default, not at all when
	// negative. After that it is cancelled, and has deleted nothing.
	StopGrace time.Duration

	// Logger is told what happens; nil is silence. A step is Debug, a pass that deleted rows Info, an error Warn.
	Logger *slog.Logger

	// Hooks are called beside.
	Hooks Hooks

	// Clock is time; nil is the machine's. What has expired is decided by the server's clock alone.
	Clock Clock
}

// Hooks are called from the sweeper's goroutine, between steps, so they must not take long; nil ones are left out. A panic
// in one is the caller's own.
type Hooks struct {
	Step     func(Step)      // a step of expiry was committed
	Usage    func(UsageStep) // a step of measuring was committed
	Measured func()          // the last tenant was reached
	Error    func(*Error)    // a step failed
}

func withDefaults(opts *Options) Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.StepTarget = or(o.StepTarget, 100*time.Millisecond)
	o.StepTimeout = min(max(or(o.StepTimeout, 5*time.Second), time.Millisecond), maxTimeout)
	o.MaxBatch = min(or(o.MaxBatch, 10_000), maxBatch)
	o.MinBatch = min(or(o.MinBatch, 100), o.MaxBatch)
	o.FirstBatch = min(max(or(o.FirstBatch, 1000), o.MinBatch), o.MaxBatch)
	o.DutyCycle = min(max(or(o.DutyCycle, 0.1), 0.01), 1)
	o.MaxIdle = or(o.MaxIdle, 30*time.Second)
	o.MinIdle = min(or(o.MinIdle, time.Second), o.MaxIdle)
	o.MaxRetry = or(o.MaxRetry, 30*time.Second)
	o.MinRetry = min(or(o.MinRetry, 250*time.Millisecond), o.MaxRetry)
	if o.UsageEvery == 0 {
		o.UsageEvery = 5 * time.Minute
	}
	o.UsageTenants = min(or(o.UsageTenants, 100), math.MaxInt32)
	if o.Retries == 0 {
		o.Retries = 5
	}
	if o.StopGrace == 0 {
		o.StopGrace = 2 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = machineClock{}
	}
	return o
}

// maxBatch is the ceiling that kv_expire_step_v1 has.
const maxBatch = 1_000_000

// maxTimeout is the longest statement_timeout.
const maxTimeout = math.MaxInt32 * time.Millisecond

// or is v where it says something, else the default.
func or[T int | float64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// fault says which option is below zero and has no meaning there; nil: none.
func (o *Options) fault() error {
	if o == nil {
		return nil
	}
	for _, option := range []struct {
		name  string
		value any
		below bool
	}{
		{"StepTarget", o.StepTarget, o.StepTarget < 0},
		{"StepTimeout", o.StepTimeout, o.StepTimeout < 0},
		{"FirstBatch", o.FirstBatch, o.FirstBatch < 0},
		{"MinBatch", o.MinBatch, o.MinBatch < 0},
		{"MaxBatch", o.MaxBatch, o.MaxBatch < 0},
		{"DutyCycle", o.DutyCycle, !(o.DutyCycle >= 0)}, // NaN too
		{"MinIdle", o.MinIdle, o.MinIdle < 0},
		{"MaxIdle", o.MaxIdle, o.MaxIdle < 0},
		{"MinRetry", o.MinRetry, o.MinRetry < 0},
		{"MaxRetry", o.MaxRetry, o.MaxRetry < 0},
		{"UsageTenants", o.UsageTenants, o.UsageTenants < 0},
		{"MaxTime", o.MaxTime, o.MaxTime < 0},
		{"MaxRows", o.MaxRows, o.MaxRows < 0},
	} {
		if option.below {
			return &Error{
				Doing: "options", Class: Config, Remedy: "it must be above 0, or 0 for the default",
				cause: fmt.Errorf("sweeper.Options.%s is %v", option.name, option.value),
			}
		}
	}
	return nil
}
