package races

import (
	"context"
	"fmt"
)

// play plays one cell with a key of its own.
func (l *lane) play(ctx context.Context, c cell, key string) (g got, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*waitLimit)
	defer cancel()
	k, err := l.seed(ctx, key, c.key.row)
	if err != nil {
		return g, fmt.Errorf("seed: %w", err)
	}
	defer rollback(l.a)
	defer rollback(l.b)
	drawn, err := l.start(ctx, c.isolation)
	if err != nil {
		return g, err
	}

	write, end := func() error { return l.write(ctx, k, c) }, func() error { return l.end(ctx, c.end) }
	beforeCall, afterCall := []func() error{write}, []func() error{end}
	switch c.end {
	case before:
		beforeCall, afterCall = []func() error{write, end}, nil
	case between:
		beforeCall, afterCall = []func() error{func() error { return l.holdSequence(ctx) }}, []func() error{write, end}
	}
	if err := inOrder(beforeCall); err != nil {
		return g, fmt.Errorf("A: %w", err)
	}
	b := l.call(ctx, k, c.b.op)
	g.waited, err = l.waits(ctx, b.done)
	if err == nil {
		err = inOrder(afterCall)
	}
	if err != nil {
		rollback(l.a) // B may wait for it
		<-b.done
		return g, fmt.Errorf("A: %w", err)
	}
	<-b.done
	if b.err != nil {
		return g, fmt.Errorf("B: %w", b.err)
	}
	g.verdict = k.named(b.verdict, "vB")
	if g.verdict.err == "" {
		if err := l.taken(ctx, k, drawn, &g); err != nil {
			return g, fmt.Errorf("B: %w", err)
		}
	}
	if _, err := l.b.Exec(ctx, "commit"); err != nil {
		return g, fmt.Errorf("B commits: %w", err)
	}
	g.row, err = k.read(ctx, l.watch, "vB")
	return g, err
}

func inOrder(steps []func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// start begins both transactions; B has its snapshot then. drawn is the last version B has drawn.
func (l *lane) start(ctx context.Context, isolation string) (drawn int64, err error) {
	if err := l.b.QueryRow(ctx, "select lastval()").Scan(&drawn); err != nil {
		return 0, err
	}
	if _, err := l.b.Exec(ctx, "begin isolation level "+isolation+"; select 1"); err != nil {
		return 0, err
	}
	_, err = l.a.Exec(ctx, "begin isolation level "+isolation)
	return drawn, err
}

// end ends A's transaction.
func (l *lane) end(ctx context.Context, how string) error {
	end := "commit"
	if how == rollsBack {
		end = "rollback"
	}
	_, err := l.a.Exec(ctx, end)
	return err
}

// holdSequence makes everybody but A wait who draws a version, until A ends; it changes nothing.
func (l *lane) holdSequence(ctx context.Context) error {
	_, err := l.a.Exec(ctx, "alter sequence queen.kv_version_seq owned by none")
	return err
}

// A call is B's: done is closed when it has returned.
type call struct {
	done    chan struct{}
	verdict verdict
	err     error
}

func (l *lane) call(ctx context.Context, k *names, o op) *call {
	b := &call{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.verdict, b.err = k.do(ctx, l.b, o, nowB)
	}()
	return b
}

// seed puts the row there and names its version, or one that might have been there; "other" is
// a version that no row has.
func (l *lane) seed(ctx context.Context, key string, r row) (*names, error) {
	var v0, other int64
	if err := l.a.QueryRow(ctx, "select nextval('queen.kv_version_seq'), nextval('queen.kv_version_seq')").Scan(&v0, &other); err != nil {
		return nil, err
	}
	k := &names{key: key, version: map[string]int64{"0": 0, "v0": v0, "other": other}, name: map[int64]string{0: "0", v0: "v0"}}
	if r == (row{}) {
		return k, nil
	}
	_, err := l.a.Exec(ctx, `insert into queen.kv (namespace, key, value, version, expires_at, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7)`,
		namespace, key, k.stored(r.value), v0, r.expires.time(), r.created.time(), r.updated.time())
	return k, err
}

// write does A's ops. Each must answer what the contract says of an op with nobody beside it.
func (l *lane) write(ctx context.Context, k *names, c cell) error {
	r := c.key.row
	for _, o := range c.a.ops {
		v, err := k.do(ctx, l.a, o, nowA)
		if err != nil {
			return err
		}
		var want verdict
		want, r = o.on(r, nowA, "vA")
		if v = k.named(v, "vA"); o.name != "prune" && v != want {
			return fmt.Errorf("%s answers %+v, want %+v", o.name, v, want)
		}
	}
	now, err := k.read(ctx, l.a, "vA")
	if err == nil && now != r {
		err = fmt.Errorf("sees the row %+v, want %+v", now, r)
	}
	return err
}

// taken looks, in B's transaction, for what B has taken, and for two rows with one key.
func (l *lane) taken(ctx context.Context, k *names, drawn int64, g *got) error {
	var hasID, hasDrawn bool
	var rowLocks int
	err := l.b.QueryRow(ctx, `select pg_current_xact_id_if_assigned() is not null, lastval() <> $1,
		(select count(*) from pg_locks where pid = pg_backend_pid()
			and locktype in ('tuple', 'transactionid', 'advisory') and mode <> 'SIReadLock'),
		(select count(*) from (select from queen.kv where namespace = $2 and key = $3
			group by tenant_id, namespace, key having count(*) > 1) as two)`,
		drawn, namespace, k.key).Scan(&hasID, &hasDrawn, &rowLocks, &g.twice)
	for what, has := range map[string]bool{"a transaction id": hasID, "a version": hasDrawn, "a lock": rowLocks > 0} {
		if has {
			g.took = append(g.took, what)
		}
	}
	return err
}
