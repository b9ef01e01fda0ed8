package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/bench/internal/server"
	"github.com/queenkv/queenkv/sweeper"
	"github.com/queenkv/queenkv/tests/cluster"
)

// serverSettings: autovacuum looks every second, since time is compressed; no checkpoint falls into a run but the one at its start.
var serverSettings = map[string]string{
	"shared_buffers":              "256MB",
	"autovacuum":                  "on",
	"autovacuum_naptime":          "1s",
	"log_autovacuum_min_duration": "0",
	"checkpoint_timeout":          "1h",
	"max_wal_size":                "16GB",
}

// A raw is what a run recorded.
type raw struct {
	plan    plan
	rate    float64
	have    installed // before the variant's changes
	about   string    // the server's settings
	steady  []call
	took    time.Duration // of the steady phase, until its last call was answered
	burst   []call
	ebb     []call
	samples []sample
	locks   []lockCount // of the steady phase, the burst, the ebb
	halfWAL int64       // bytes, from the middle of the steady phase to its end
	updated int64       // counters' updates looked at in the last half
	hot     int64
	live    int64         // rows at the end of the steady phase
	packed  int64         // bytes of those, with their indexes, without a gap
	given   []int64       // pages that a vacuum gave back, of the steady phase, and of the burst and the ebb
	vacuums int64         // in the steady phase
	late    time.Duration // the oldest expired row that a step of the sweeper left
	swept   int64         // rows
	failed  int           // steps of the sweeper, which tries again
	failure error         // the last of those
}

// one runs a variant on a cluster of its own.
func one(ctx context.Context, bin cluster.Binaries, v variant, s sizes, p plan) (r *raw, err error) {
	c, err := cluster.Start(ctx, bin, &cluster.Options{Durable: s.fsync, Settings: maps.Clone(serverSettings)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	at, err := server.Install(ctx, c)
	if err != nil {
		return nil, err
	}
	defer at.Conn.Close(ctx)
	r = &raw{plan: p, rate: s.rate(p)}
	if r.have, err = readInstalled(ctx, at.Conn); err != nil {
		return nil, err
	}
	if r.about, err = at.Settings(ctx); err != nil {
		return nil, err
	}
	for _, change := range v.changes {
		if err := at.Exec(ctx, change.statements()...); err != nil {
			return nil, err
		}
		if now, err := readInstalled(ctx, at.Conn); err != nil || !now.has(change) {
			return nil, errors.Join(err, fmt.Errorf("%s is not in force: %v", change.name, now))
		}
	}
	url, err := at.SocketURL()
	if err != nil {
		return nil, err
	}
	if err := at.Exec(ctx, `checkpoint`); err != nil {
		return nil, err
	}
	return r, r.play(ctx, at, url, s)
}

// play runs the phases, with the sweeper and the samplers beside.
func (r *raw) play(ctx context.Context, at *server.Server, url string, s sizes) (err error) {
	pool, err := newPool(ctx, url, s.clients)
	if err != nil {
		return err
	}
	defer pool.Close()
	beside, err := newPool(ctx, url, 3)
	if err != nil {
		return err
	}
	defer beside.Close()

	ctx, cancel := context.WithCancelCause(ctx)
	sampler := newSampler(beside, max(r.plan.steady/200, 100*time.Millisecond))
	watch := &lockWatch{db: beside}
	sweep := sweeper.New(beside, &sweeper.Options{
		MinIdle: r.plan.ttl / 50, MaxIdle: r.plan.ttl / 10, UsageEvery: -1,
		Hooks: sweeper.Hooks{
			Step:  func(step sweeper.Step) { r.late, r.swept = max(r.late, step.Lag), r.swept+step.Deleted },
			Error: func(e *sweeper.Error) { r.failed, r.failure = r.failed+1, e },
		},
	})
	stop := goAll(ctx, cancel, sampler.run, watch.run, sweep.Run)
	err = r.phases(ctx, at, newCallers(pool, r.plan.ttl, s), watch, s)
	stop() // what they recorded is ours after this
	if cause := context.Cause(ctx); err == nil || errors.Is(err, context.Canceled) {
		if cause != nil && !errors.Is(cause, errStopped) {
			err = cause
		}
	}
	r.samples = sampler.samples
	return err
}

func (r *raw) phases(ctx context.Context, at *server.Server, c *callers, watch *lockWatch, s sizes) error {
	l := load{s.clients, c.do}
	half := make(chan error, 1)
	var wal, updated, hot int64
	watch.enter()
	begin := time.Now()
	timer := time.AfterFunc(r.plan.steady/2, func() {
		updated, hot = c.updated.Load(), c.hot.Load()
		var err error
		wal, err = at.WAL(ctx)
		half <- err
	})
	atHalf := sync.OnceValue(func() error { return <-half })
	defer func() {
		if !timer.Stop() { // it has the connection
			_ = atHalf()
		}
	}()
	var err error
	if r.steady, err = l.paced(ctx, r.rate, r.plan.steady, pattern); err != nil {
		return fmt.Errorf("at a fixed rate: %w", err)
	}
	r.took = time.Since(begin)
	if err := atHalf(); err != nil {
		return err
	}
	wal2, err := at.WAL(ctx)
	if err != nil {
		return err
	}
	r.halfWAL, r.updated, r.hot = wal2-wal, c.updated.Load()-updated, c.hot.Load()-hot
	const vacuums = `select autovacuum_count from pg_stat_user_tables where relid = 'queen.kv'::regclass`
	if err := at.Conn.QueryRow(ctx, vacuums).Scan(&r.vacuums); err != nil {
		return err
	}
	var given int64
	if given, err = pagesGiven(at); err != nil {
		return err
	}
	r.given = []int64{given}
	if r.live, r.packed, err = pack(ctx, at); err != nil {
		return fmt.Errorf("packing the live rows: %w", err)
	}
	watch.enter()
	if r.burst, err = l.closed(ctx, r.plan.burst, pattern); err != nil {
		return fmt.Errorf("at full speed: %w", err)
	}
	watch.enter()
	if r.ebb, err = l.paced(ctx, r.rate, r.plan.ebb, "G"); err != nil {
		return fmt.Errorf("with reads alone: %w", err)
	}
	r.locks = watch.leave()
	if given, err = pagesGiven(at); err != nil {
		return err
	}
	r.given = append(r.given, given-r.given[0])
	return nil
}

// pagesGiven is how many pages vacuums have given back so far, by the server's log.
func pagesGiven(at *server.Server) (int64, error) {
	log, err := os.ReadFile(filepath.Join(at.Cluster.Dir, "postgres.log"))
	if err != nil {
		return 0, err
	}
	return truncatedPages(string(log)), nil
}

// pack is the live set as small as it can be: a copy of the live rows in full pages, with indexes made afterwards.
func pack(ctx context.Context, at *server.Server) (rows, bytes int64, err error) {
	err = at.Exec(ctx,
		`create table bench.packed with (fillfactor = 100, autovacuum_enabled = false) as
			select * from queen.kv where queen.kv_live_v1(expires_at, statement_timestamp())`,
		`create unique index on bench.packed (tenant_id, namespace, key)`,
		`create index on bench.packed (shard, expires_at) where expires_at is not null`)
	if err != nil {
		return 0, 0, err
	}
	err = at.Conn.QueryRow(ctx, `select count(*), pg_total_relation_size('bench.packed') from bench.packed`).Scan(&rows, &bytes)
	return rows, bytes, errors.Join(err, at.Exec(ctx, `drop table bench.packed`))
}

func newPool(ctx context.Context, url string, conns int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = int32(conns), int32(conns)
	return pgxpool.NewWithConfig(ctx, config)
}
