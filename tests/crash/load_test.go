package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// Clients in this process, and clients in processes of their own.
	goroutines = 4
	children   = 2

	// deliveryLimit bounds how long a delivery is tried again.
	deliveryLimit = 2 * time.Minute
	// attemptPause keeps clients from turning in circles while there is no server.
	attemptPause = 10 * time.Millisecond
)

// A lane is a client and the proxy before it.
type lane struct {
	name   string
	tap    *tap
	client interface {
		deliver(ctx context.Context, key string) (answer, error)
		close()
	}
	child *child // the client, when it is a process
}

// A load delivers for as long as it is told to. About every third delivery comes twice at once, and about every tenth
// again later, to any client.
type load struct {
	lanes []*lane
	rng   *rand.Rand

	keys   chan string
	issued []string // the producer's, until all has ended

	mu       sync.Mutex
	acks     []ack
	replayed int
	unknown  int // attempts of unknown outcome
	again    int // of these, how many were replayed at last: committed after all, or by a duplicate meanwhile
	failed   int // attempts that failed otherwise
	waiting  map[chan struct{}]int
}

// newLoad starts a proxy for each client. The children go the way of Once alone.
func newLoad(t *testing.T, u *url.URL, way way, rng *rand.Rand, children int) *load {
	t.Helper()
	l := &load{rng: rng, keys: make(chan string), waiting: map[chan struct{}]int{}}
	levels := []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}
	for i := range goroutines + children {
		lane := &lane{name: fmt.Sprintf("crash-%d", i)}
		var address string
		lane.tap, address = newProxy(t, lane.name, u.Host)
		to, err := through(u, address, lane.name)
		if err != nil {
			t.Fatal(err)
		}
		level := levels[i%len(levels)]
		if i < goroutines {
			lane.client, err = newClient(to, level, way)
		} else {
			lane.child = &child{url: to, level: level}
			lane.client = lane.child
		}
		if err != nil {
			t.Fatal(err)
		}
		l.lanes = append(l.lanes, lane)
	}
	return l
}

// run delivers while during runs, and then until every delivery that was begun is acknowledged.
func (l *load) run(t *testing.T, during func()) {
	t.Helper()
	var running sync.WaitGroup
	for _, lane := range l.lanes {
		running.Go(func() {
			defer lane.client.close()
			for key := range l.keys {
				if err := l.deliver(t.Context(), lane, key); err != nil {
					t.Errorf("%s: %s: %v", lane.name, key, err)
				}
			}
		})
	}
	stop := make(chan struct{})
	running.Go(func() { l.produce(stop) })
	func() {
		defer close(stop)
		during()
	}()
	running.Wait()
}

func (l *load) produce(stop <-chan struct{}) {
	defer close(l.keys)
	for i := 0; ; i++ {
		key := fmt.Sprintf("delivery-%07d", i)
		again := []string{key}
		switch l.rng.IntN(30) {
		case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9:
			again = append(again, key)
		case 10, 11, 12:
			again = append(again, fmt.Sprintf("delivery-%07d", l.rng.IntN(i+1)))
		}
		l.issued = append(l.issued, key)
		for _, key := range again {
			select {
			case l.keys <- key:
			case <-stop:
				return
			}
		}
	}
}

// deliver attempts until the delivery is acknowledged: whatever went wrong, the answer is to run it again with the same key.
func (l *load) deliver(ctx context.Context, lane *lane, key string) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	pause := time.NewTicker(attemptPause)
	defer pause.Stop()
	unknown := false
	for {
		a, err := lane.client.deliver(ctx, key)
		if err == nil {
			l.acknowledge(ack{key, a.row}, a.replayed, unknown)
			return nil
		}
		l.mu.Lock()
		if errors.Is(err, errUnknown) {
			unknown = true
			l.unknown++
		} else {
			l.failed++
		}
		l.mu.Unlock()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("not acknowledged in %v; the last error: %w", deliveryLimit, err)
		}
	}
}

func (l *load) acknowledge(a ack, replayed, unknown bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, a)
	if replayed {
		l.replayed++
		if unknown {
			l.again++
		}
	}
	for done, at := range l.waiting {
		if len(l.acks) >= at {
			close(done)
			delete(l.waiting, done)
		}
	}
}

// progress returns when n more deliveries have been acknowledged.
func (l *load) progress(ctx context.Context, n int) error {
	done := make(chan struct{})
	l.mu.Lock()
	l.waiting[done] = len(l.acks) + n
	l.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the load stands still: %w", ctx.Err())
	}
}

// brokenCommits counts connections of all clients that ended between COMMIT and its answer.
func (l *load) brokenCommits() int {
	n := 0
	for _, lane := range l.lanes {
		n += lane.tap.brokenCommits()
	}
	return n
}
