package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/cluster"
)

type kind string

const (
	serverKilled      kind = "server killed"
	clientKilled      kind = "client killed"
	backendTerminated kind = "backend terminated"
	socketCut         kind = "socket cut"
)

// A fault is one thing that goes wrong.
type fault struct {
	kind  kind
	at    moment
	after int // so many acknowledgements after the last fault
	skip  int // moments that are let pass
	lane  int // whose connection it strikes
}

func (f fault) String() string { return fmt.Sprintf("%s, %s, client %d", f.kind, f.at, f.lane) }

// deck has each kind of fault at each moment that makes a difference for it.
var deck = []fault{
	{kind: serverKilled, at: anywhere},
	{kind: serverKilled, at: answered},
	{kind: clientKilled, at: anywhere},
	{kind: clientKilled, at: answered},
	{kind: backendTerminated, at: anywhere},
	{kind: backendTerminated, at: sent},
	{kind: socketCut, at: anywhere},
	{kind: socketCut, at: sent},
	{kind: socketCut, at: passed},
	{kind: socketCut, at: answered},
}

// plan deals n faults, deck after deck; the same generator deals the same faults.
func plan(rng *rand.Rand, n int) []fault {
	var all []fault
	for len(all) < n {
		for _, i := range rng.Perm(len(deck)) {
			f := deck[i]
			f.after = rng.IntN(100)
			f.skip = rng.IntN(4)
			f.lane = rng.IntN(goroutines + children)
			if f.at == anywhere {
				f.skip = rng.IntN(20)
			}
			if f.kind == clientKilled {
				f.lane = goroutines + rng.IntN(children)
			}
			all = append(all, f)
		}
	}
	return all[:n]
}

// faultLimit bounds one fault, with the server's recovery.
const faultLimit = 2 * time.Minute

// strike does f to the load, and returns when the connections it struck are gone and the server is there. It tells whether a
// connection ended between COMMIT sent and acknowledged.
func (f fault) strike(ctx context.Context, l *load, c *cluster.Cluster) (inCommit bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, faultLimit)
	defer cancel()
	if err := l.progress(ctx, f.after); err != nil {
		return false, err
	}
	lane := l.lanes[f.lane]
	before := l.brokenCommits()
	g := newGate(f.at, f.skip)
	// What is held goes on towards a server or a client that is gone by then; an answer that got through would be one.
	v := deliver
	switch {
	case f.at == answered, f.kind == socketCut && f.at != passed:
		v = lose
	case f.at == passed:
		v = deliverAndCut
	}
	defer g.release(v)
	lane.tap.arm(g)
	var held *wire
	select {
	case held = <-g.reached:
	case <-ctx.Done():
		return false, errors.New("no connection came to that moment")
	}
	struck := []*wire{held}
	switch f.kind {
	case serverKilled:
		for _, lane := range l.lanes {
			struck = append(struck, lane.tap.wires()...)
		}
		err = errors.Join(crashServer(ctx, c), restartServer(ctx, c))
	case clientKilled:
		err = lane.child.kill()
	case backendTerminated:
		err = terminate(ctx, c, lane.name)
	}
	if err != nil {
		return false, err
	}
	g.release(v)
	for _, w := range struck {
		select {
		case <-w.done:
		case <-ctx.Done():
			return false, errors.New("a connection has survived")
		}
	}
	return l.brokenCommits() > before, nil
}

// terminate ends the lane's session and returns when it has ended.
func terminate(ctx context.Context, c *cluster.Cluster, application string) error {
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var sessions, ended int
	err = conn.QueryRow(ctx, `select count(*), count(*) filter (where pg_terminate_backend(pid, 10000))
		from pg_stat_activity where application_name = $1`, application).Scan(&sessions, &ended)
	if err == nil && (sessions == 0 || ended < sessions) {
		err = fmt.Errorf("terminated %d of %d sessions of %s", ended, sessions, application)
	}
	return err
}
