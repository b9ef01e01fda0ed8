package main

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A sample is the table at one time.
type sample struct {
	At      time.Duration // since the run's first call
	Table   int64         // bytes, with its maps and its TOAST table
	Key     int64         // bytes of the primary key
	Expires int64         // bytes of the index on expiry
	Dead    int64         // rows, as the server's statistics have them
}

func (s sample) total() float64 { return float64(s.Table + s.Key + s.Expires) }

const sampleSQL = `select pg_table_size('queen.kv'), pg_relation_size('queen.kv_pkey'), pg_relation_size('queen.idx_kv_shard_expires'),
	coalesce((select n_dead_tup from pg_stat_user_tables where relid = 'queen.kv'::regclass), 0)`

type sampler struct {
	db      *pgxpool.Pool
	every   time.Duration
	samples []sample
}

func newSampler(db *pgxpool.Pool, every time.Duration) *sampler {
	return &sampler{db: db, every: every}
}

func (s *sampler) run(ctx context.Context) error {
	begin := time.Now()
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		one := sample{At: time.Since(begin)}
		if err := s.db.QueryRow(ctx, sampleSQL).Scan(&one.Table, &one.Key, &one.Expires, &one.Dead); err != nil {
			return err
		}
		s.samples = append(s.samples, one)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// lockEvery is how often the locks are looked at. A lock that was held for less may be missed, and one that was seen counts for as
// much: over many looks the sum is right, of one lock it is not.
const lockEvery = 10 * time.Millisecond

// lockSQL is whether somebody has the table, its TOAST table or an index in ACCESS EXCLUSIVE mode.
const lockSQL = `select exists (select from pg_locks as l where l.granted and l.mode = 'AccessExclusiveLock' and l.locktype = 'relation'
	and l.relation in ('queen.kv'::regclass, 'queen.kv_pkey'::regclass, 'queen.idx_kv_shard_expires'::regclass,
		(select c.reltoastrelid from pg_class as c where c.oid = 'queen.kv'::regclass)))`

// A lockCount is what was seen in a phase.
type lockCount struct {
	looks, held int
	length      time.Duration
}

// time is how long the lock was held: the share of the looks, of the phase.
func (l lockCount) time() time.Duration {
	return time.Duration(float64(l.length) * float64(l.held) / float64(max(l.looks, 1)))
}

// A lockWatch looks at the locks, and counts by phase.
type lockWatch struct {
	db    *pgxpool.Pool
	mu    sync.Mutex
	began time.Time
	seen  []lockCount
}

// enter begins a phase and ends the one before.
func (w *lockWatch) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	w.began, w.seen = time.Now(), append(w.seen, lockCount{})
}

// leave ends the last phase.
func (w *lockWatch) leave() []lockCount {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	return w.seen
}

func (w *lockWatch) end() {
	if n := len(w.seen); n > 0 {
		w.seen[n-1].length = time.Since(w.began)
	}
}

func (w *lockWatch) run(ctx context.Context) error {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		var held bool
		if err := w.db.QueryRow(ctx, lockSQL).Scan(&held); err != nil {
			return err
		}
		w.mu.Lock()
		if n := len(w.seen); n > 0 {
			w.seen[n-1].looks++
			if held {
				w.seen[n-1].held++
			}
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
