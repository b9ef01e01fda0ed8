package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	clients     = 16
	keysARound  = 4
	callsARound = 800 // on keys of their own: short histories are checked fast, and are read by people
	millisecond = int64(time.Millisecond / time.Microsecond)
	longestTTL  = 40 // milliseconds
)

// A round is some calls of every client on some keys.
type round struct {
	began time.Time
	keys  []string
	last  []atomic.Int64 // by key: the version that was shown last to anybody

	mu      sync.Mutex
	history map[string][]porcupine.Operation
	tally   tally
}

// A tally is what a run came to.
type tally struct {
	calls, lost, dead, rolledBack, retries int
	pruned                                 int64
	checking                               time.Duration
}

func (t tally) String() string {
	return fmt.Sprintf("%d calls of %d clients, four keys at a time, %d of them lost, %d on a key with nothing alive, %d undone, "+
		"%d retries after 40001, %d rows pruned beside them", t.calls, clients, t.lost, t.dead, t.rolledBack, t.retries, t.pruned)
}

func (t *tally) add(u tally) {
	t.calls += u.calls
	t.lost += u.lost
	t.dead += u.dead
	t.rolledBack += u.rolledBack
	t.retries += u.retries
	t.pruned += u.pruned
	t.checking += u.checking
}

// play lets the clients work at once, and gives the histories of the keys.
func play(ctx context.Context, all []*client, name string) (*round, error) {
	r := &round{began: time.Now(), history: map[string][]porcupine.Operation{}, last: make([]atomic.Int64, keysARound)}
	for i := range keysARound {
		r.keys = append(r.keys, fmt.Sprintf("%s key %d", name, i))
	}
	var running sync.WaitGroup
	errs := make(chan error, len(all))
	for id, c := range all {
		running.Go(func() {
			before := c.retries
			for n := range callsARound / len(all) {
				if err := r.one(ctx, c, id, n); err != nil {
					errs <- fmt.Errorf("client %d: %w", id, err)
					return
				}
			}
			r.mu.Lock()
			r.tally.retries += c.retries - before
			r.mu.Unlock()
		})
	}
	running.Wait()
	close(errs)
	return r, <-errs
}

// one makes a call and records it. A transaction that is rolled back leaves nothing and is not recorded: its verdict may be
// of what it saw itself.
func (r *round) one(ctx context.Context, c *client, id, n int) error {
	k := rand.IntN(len(r.keys))
	what := r.anyCall(k, id, n)
	end := anyFate()
	a, called, err := c.do(ctx, what, end)
	returned := time.Now()
	if err != nil {
		return fmt.Errorf("%v: %w", what, err)
	}
	if a.row.version != 0 && end != rolledBack {
		r.last[k].Store(a.row.version)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.calls++
	if end == rolledBack {
		r.tally.rolledBack++
		return nil
	}
	if a.reason != "" {
		r.tally.lost++
	}
	if a.row.version == 0 {
		r.tally.dead++
	}
	r.history[what.key] = append(r.history[what.key], porcupine.Operation{
		ClientId: id, Input: what, Output: a,
		Call: called.Sub(r.began).Nanoseconds(), Return: returned.Sub(r.began).Nanoseconds(),
	})
	return nil
}

func anyFate() fate {
	switch n := rand.IntN(10); {
	case n < 6:
		return alone
	case n < 9:
		return committed
	}
	return rolledBack
}

// anyOps has each op as often as it is called. Puts and deletes are fewer than what meets them.
var anyOps = []string{
	"get", "get", "get", "read", "put", "put", "put", "put", "putIfAbsent", "putIfAbsent",
	"incr", "incr", "incr", "touch", "touch", "delete", "delete",
}

// anyCall is a call at random, whose precondition is often one that holds for one of several clients.
func (r *round) anyCall(k, id, n int) call {
	c := call{key: r.keys[k], op: anyOps[rand.IntN(len(anyOps))], expect: noExpect}
	switch c.op {
	case "get", "read":
		return c
	case "put", "putIfAbsent":
		c.value = strconv.Itoa(rand.IntN(5))
		if rand.IntN(3) == 0 {
			c.value = fmt.Sprintf(`"%d of %d"`, n, id)
		}
	case "incr":
		c.delta = rand.Int64N(7) - 3
		c.bounded, c.min, c.max = rand.IntN(2) == 0, -3, 3
	}
	if c.op != "delete" && rand.IntN(4) > 0 {
		c.ttl = (1 + rand.Int64N(longestTTL)) * millisecond
	}
	if c.op == "put" || c.op == "touch" || c.op == "delete" {
		switch rand.IntN(8) {
		case 0:
			c.expect = 0
		case 1, 2, 3:
			c.expect = r.last[k].Load() // 0 at first
		}
	}
	c.readBack = rand.IntN(4) == 0
	return c
}
