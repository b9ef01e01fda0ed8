package quota

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// Options are the options of [New]; the zero value is the default. [New] refuses a number or a time below 0.
type Options struct {
	// Every is how often limits and measurements are read, 10 seconds by default. Each time it is up to a fifth more or less, so that
	// many processes don't ask together. A reading is one statement, which brings some 150 bytes for each tenant with a quota.
	Every time.Duration

	// Timeout is how long one reading may take, 5 seconds by default.
	Timeout time.Duration

	// CommitWithin is how long after a write its transaction may take to commit, a minute by default. A measurement that was made less
	// than this after a write may have missed it, so the write still counts beside it. Too short, and writes of longer transactions
	// count nowhere for a while; too long, and some count twice. A program that writes through a pool, without transactions, may
	// say a second.
	CommitWithin time.Duration

	// RequireGrant refuses every tenant that has no quota, and so every tenant beyond MaxTenants. By default a tenant without a
	// quota may write without bound.
	RequireGrant bool

	// MaxStale refuses all tenants who have a quota, and with RequireGrant all tenants, when no reading has succeeded for so long. 0, the
	// default, goes on with what is known: what this process writes is counted all the same, so that it can't pass a limit by
	// itself however long the readings fail.
	MaxStale time.Duration

	// MaxTenants is how many tenants with a quota are known at most, 100,000 by default. Nobody is forgotten to make room for another:
	// then what he wrote would be forgotten too. Who finds no place is as one without a quota, and the readings give an error.
	MaxTenants int

	// OnError is told of each reading that failed, in [Enforcer.Run], and of tenants who found no place, in [New] too. It must not
	// block. By default nobody is told.
	OnError func(error)

	// Now is time.Now by default. A test may say how late it is.
	Now func() time.Time
}

// maxKeys is how many keys are remembered, of all tenants together: 7 MB. What is written beyond it counts as a new row each
// time.
const maxKeys = 100_000

// Enforcer refuses writes of tenants who are over their quota. [New] makes it; it is for many goroutines.
//
// What a tenant stores is taken to be his last measurement, and what this process wrote since: the two can be read by [Enforcer.Usage].
type Enforcer struct {
	db         kvpg.DB
	opts       Options
	seed       maphash.Seed
	remembered atomic.Int64 // keys in all ledgers
	refreshing sync.Mutex

	mu        sync.RWMutex
	tenants   map[[16]byte]*tenant
	refreshed time.Time // when the last reading that succeeded began
}

// New makes an Enforcer, and reads limits and measurements a first time, so that there is no time in which nothing is known; without
// that reading it fails. Nothing is read again unless [Enforcer.Run] runs.
//
// db must be a pool, or kvpg.FromSQL of a *sql.DB, on the primary; a transaction, whose reading would never change, is refused. Its role
// must be a reader (kv_grant_v1), or more.
func New(ctx context.Context, db kvpg.DB, opts *Options) (*Enforcer, error) {
	if opts == nil {
		opts = &Options{}
	}
	if _, ok := db.(kvpg.Tx); ok || db == nil {
		return nil, errors.New("kvpg/quota: New wants a pool, not a transaction")
	}
	q := &Enforcer{db: db, opts: *opts, seed: maphash.MakeSeed(), tenants: map[[16]byte]*tenant{}}
	o := &q.opts
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Every = min(cmp.Or(o.Every, 10*time.Second), maxAge) // a fifth more than it must be a time.Duration too
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.CommitWithin = cmp.Or(o.CommitWithin, time.Minute)
	o.MaxTenants = cmp.Or(o.MaxTenants, 100_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := kvpg.CheckSchema(ctx, db); err != nil {
		return nil, err
	}
	err := q.Refresh(ctx)
	var full noPlace
	if errors.As(err, &full) {
		q.tell(err)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Run reads limits and measurements again and again until ctx ends, and then returns. Call it once, in a goroutine of yours.
func (q *Enforcer) Run(ctx context.Context) {
	for {
		wait := time.Duration(float64(q.opts.Every) * (0.8 + 0.4*rand.Float64()))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if err := q.Refresh(ctx); err != nil && ctx.Err() == nil {
			q.tell(err)
		}
	}
}

func (q *Enforcer) tell(err error) {
	if q.opts.OnError != nil {
		q.opts.OnError(err)
	}
}

// Usage is what is known of a tenant.
type Usage struct {
	// MaxRows and MaxBytes are the tenant's quota; nil is no bound.
	MaxRows, MaxBytes *int64

	// Rows and Bytes are what writes are judged by: the measured ones, and the ones that this process has added.
	Rows, Bytes                 int64
	MeasuredRows, MeasuredBytes int64

	// Sampled says that the measurement is an estimate.
	Sampled bool

	// MeasuredAt is when the measurement began, or a little earlier, by this process's clock. It is zero where the tenant was never
	// measured, and where the stamp lies in the future of the server's clock.
	MeasuredAt time.Time

	// Blocked says that the tenant was over its quota, and is refused until it is measured under 90% of it.
	Blocked bool
}

// Usage tells what is known of a tenant, for metrics and pages. ok is false for a tenant without a quota.
func (q *Enforcer) Usage(id [16]byte) (usage Usage, ok bool) {
	q.mu.RLock()
	t := q.tenants[id]
	q.mu.RUnlock()
	if t == nil {
		return Usage{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	counted := t.counted()
	return Usage{
		MaxRows: copyOf(t.rows.limit), MaxBytes: copyOf(t.bytes.limit), Rows: counted.rows, Bytes: counted.bytes,
		MeasuredRows: t.measured.rows, MeasuredBytes: t.measured.bytes, Sampled: t.sampled, MeasuredAt: t.at,
		Blocked: t.rows.blocked || t.bytes.blocked,
	}, true
}

func copyOf(n *int64) *int64 {
	if n == nil {
		return nil
	}
	c := *n
	return &c
}

// admit sets need aside for a tenant. The tenant is nil where nothing bounds him.
func (q *Enforcer) admit(id [16]byte, need amount) (*tenant, error) {
	q.mu.RLock()
	t, refreshed := q.tenants[id], q.refreshed
	q.mu.RUnlock()
	if t == nil && !q.opts.RequireGrant {
		return nil, nil
	}
	if q.opts.MaxStale > 0 && q.opts.Now().Sub(refreshed) > q.opts.MaxStale {
		return nil, &Error{Tenant: id, Reason: ReasonStale}
	}
	if t == nil {
		return nil, &Error{Tenant: id, Reason: ReasonNoGrant}
	}
	if refused := t.reserve(need); refused != nil {
		refused.Tenant = id
		return nil, refused
	}
	return t, nil
}
