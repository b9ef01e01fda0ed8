package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

var (
	markerSpace  = kvpg.NewNamespace("soak.markers")
	counterSpace = kvpg.NewNamespace("soak.counters")
	leaseSpace   = kvpg.NewNamespace("soak.leases")
)

// opsPerCall is of pattern: each marker of a batch is an op.
var opsPerCall = float64(strings.Count(pattern, "M")*(markerBatch-1)+len(pattern)) / float64(len(pattern))

const (
	markerBatch = 20 // markers of one call
	renewals    = 5  // of a lease, before it is given back
	lookEvery   = 10 // one counter call in so many is looked at, whether it was HOT
)

// callers make the calls of a run through one pool. A client's state is touched by that client alone.
type callers struct {
	pool     *pgxpool.Pool
	ttl      time.Duration
	counters int
	text     string // values are pieces of it
	made     atomic.Uint64
	updated  atomic.Int64 // of the counters looked at: updates,
	hot      atomic.Int64 // and those that were HOT
	clients  []client
}

type client struct {
	leases []held
	turn   int
}

type held struct {
	lease kvpg.Lease
	left  int // renewals
}

func newCallers(pool *pgxpool.Pool, ttl time.Duration, s sizes) *callers {
	const hex = "0123456789abcdef"
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 64<<10)
	for i := range text {
		text[i] = hex[random.IntN(len(hex))]
	}
	c := &callers{pool: pool, ttl: ttl, counters: s.counters, text: string(text), clients: make([]client, s.clients)}
	for i := range c.clients {
		c.clients[i].leases = make([]held, (s.counters+s.clients-1)/s.clients)
	}
	return c
}

func (c *callers) do(ctx context.Context, client, n int, kind byte) error {
	switch kind {
	case 'M':
		return c.markers(ctx)
	case 'C':
		return c.count(ctx, n)
	case 'L':
		return c.lease(ctx, client)
	default:
		_, _, err := kvpg.Get(ctx, c.pool, counterSpace, "0")
		return err
	}
}

// markers writes new keys, as a consumer does that reads a batch: with values of 120 to 1000 bytes, and TTLs of half the mean up to
// one and a half, so that rows side by side don't expire together.
func (c *callers) markers(ctx context.Context) error {
	ops := make([]kvpg.Op, markerBatch)
	for i := range ops {
		id := mixed(c.made.Add(1))
		bytes, at := 120+int(id%880), int(id>>20%32768)
		ttl := c.ttl/2 + time.Duration(id>>32%1000)*c.ttl/1000
		ops[i] = kvpg.PutIfAbsentOp(markerSpace, fmt.Sprintf("%016x%016x", id, mixed(id)), c.text[at:at+bytes], kvpg.TTL(ttl), nil)
	}
	results, err := kvpg.Apply(ctx, c.pool, ops...)
	for _, r := range results {
		if err == nil && !r.Verdict.Applied {
			err = fmt.Errorf("the new marker %s was taken", r.Verdict.Key)
		}
	}
	return err
}

// mixed spreads counted numbers over all 64 bits, each to another one (SplitMix64).
func mixed(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// seenSQL is what this transaction has updated so far, as the server counts it, and how much of that was HOT.
const seenSQL = `select n_tup_upd, n_tup_hot_upd from pg_stat_xact_user_tables where relid = 'queen.kv'::regclass`

// count adds one to a counter. One call in lookEvery is in a transaction that asks the server's counts before and after.
func (c *callers) count(ctx context.Context, n int) error {
	key := strconv.FormatUint(mixed(uint64(n))%uint64(c.counters), 10)
	hit := func(db kvpg.DB) error {
		v, err := kvpg.Incr(ctx, db, counterSpace, key, 1, kvpg.TTL(c.ttl), nil)
		if err == nil && !v.Applied {
			err = fmt.Errorf("counter %s was not hit: %s", key, v.Reason)
		}
		return err
	}
	if !looked(n) {
		return hit(c.pool)
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		var updates, hot [2]int64
		for i := range 2 {
			if i == 1 {
				if err := hit(tx); err != nil {
					return err
				}
			}
			if err := tx.QueryRow(ctx, seenSQL).Scan(&updates[i], &hot[i]); err != nil {
				return err
			}
		}
		c.updated.Add(updates[1] - updates[0])
		c.hot.Add(hot[1] - hot[0])
		return nil
	})
}

// looked tells of a counter call whether it is looked at. Those have more statements, and don't count for latency.
func looked(n int) bool { return mixed(uint64(n))>>40%lookEvery == 0 }

// lease acquires one of the client's leases, or renews it, or after some renewals gives it back.
func (c *callers) lease(ctx context.Context, number int) error {
	me := &c.clients[number]
	i := me.turn % len(me.leases)
	me.turn++
	h := &me.leases[i]
	switch {
	case h.lease.Key == "":
		key := fmt.Sprintf("%d-%d", number, i)
		lease, ok, err := kvpg.AcquireLease(ctx, c.pool, leaseSpace, key, c.ttl, nil)
		if err == nil && !ok {
			err = fmt.Errorf("lease %s is held by somebody else", key)
		}
		*h = held{lease, renewals}
		return err
	case h.left == 0:
		_, err := h.lease.Release(ctx, c.pool)
		*h = held{}
		return err
	}
	h.left--
	lease, ok, err := h.lease.Renew(ctx, c.pool, c.ttl)
	if h.lease = lease; err == nil && !ok { // its time ran out, as it does for a holder that is late
		*h = held{}
	}
	return err
}
