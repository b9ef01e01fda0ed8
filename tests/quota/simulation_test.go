package quota

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/queenkv/queenkv/kvpg/quota"
)

var ctx = context.Background()

// newWorld is a world of n processes; their clocks differ from each other and from the server's.
func newWorld(n int, limitRows, limitBytes int64, slow func() time.Duration, offset func() time.Duration) (*world, error) {
	w := &world{rows: map[string]int64{}, slow: slow, limit: line{MaxRows: &limitRows, MaxBytes: &limitBytes}}
	w.skew = offset()
	for range n {
		if err := w.start(offset()); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// start adds a process.
func (w *world) start(offset time.Duration) error {
	p := &process{db: &fake{}}
	p.db.read = func() ([]line, error) { return w.reading(p) }
	q, err := quota.New(ctx, p.db, &quota.Options{CommitWithin: commitWithin, Now: func() time.Time { return w.clock(offset) }})
	p.Enforcer = q
	w.processes = append(w.processes, p)
	return err
}

// worlds is how many are tried, each from a seed of its own.
const worlds = 250

// However N processes write, whenever they read, however long transactions stay open (within CommitWithin), whatever their clocks say:
// a tenant stores no more than the limit and the room that all but one saw. So one process alone passes no limit.
func TestBound(t *testing.T) {
	t.Parallel()
	var sum tally
	for seed := range uint64(worlds) {
		if err := sum.play(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if sum.allowed < worlds || sum.refused < worlds || sum.over < worlds {
		t.Errorf("too little was tried: %+v", sum)
	}
	t.Logf("%+v", sum)
}

// tally is what happened: writes allowed and refused, and steps after which a limit was passed.
type tally struct{ allowed, refused, over int }

// play tries one world.
func (sum *tally) play(r *rand.Rand) error {
	upTo := func(most time.Duration) time.Duration { return time.Duration(r.Int64N(int64(most) + 1)) }
	slow := upTo(3 * time.Second)
	limitRows, limitBytes := int64(1<<40), int64(1<<40)
	if r.IntN(2) == 0 {
		limitRows = r.Int64N(12)
	} else {
		limitBytes = r.Int64N(3000)
	}
	w, err := newWorld(max(1, r.IntN(4)), limitRows, limitBytes,
		func() time.Duration { return upTo(slow) }, func() time.Duration { return upTo(2*time.Hour) - time.Hour })
	if err != nil {
		return err
	}
	for range 150 {
		p := w.processes[r.IntN(len(w.processes))]
		switch what := r.IntN(100); {
		case what < 12:
			w.measure()
		case what < 22:
			if err := p.Refresh(ctx); err != nil {
				return err
			}
		case what < 36:
			w.advance(upTo(commitWithin / 2))
		case what < 38:
			w.advance(upTo(4 * commitWithin))
		case what < 42 && len(w.open) > 0:
			w.end(r.IntN(len(w.open)))
		case what == 42 && len(w.processes) > 1 && len(w.processes) < 4:
			if err := w.start(upTo(2*time.Hour) - time.Hour); err != nil {
				return err
			}
		default:
			kind := []string{"put", "put", "putIfAbsent", "delete", "delete"}[r.IntN(5)]
			key := fmt.Sprint("k", r.IntN(16))
			if w.locked(key) {
				continue
			}
			err := w.write(p, kind, key, r.IntN(400), upTo(commitWithin), r.IntN(5) > 0)
			if err != nil && (kind == "delete" || !errors.Is(err, quota.ErrQuota)) {
				return err
			}
		}
		rows, bytes := w.total()
		if mostRows, mostBytes := w.bound(); rows > mostRows || bytes > mostBytes {
			return fmt.Errorf("%d rows and %d bytes are stored, of at most %d and %d", rows, bytes, mostRows, mostBytes)
		}
		if rows > limitRows || bytes > limitBytes {
			sum.over++
		}
	}
	for _, p := range w.processes {
		sum.allowed, sum.refused = sum.allowed+p.allowed, sum.refused+p.refusedCalls
	}
	return nil
}

// The bound is reached: processes that know nothing of each other each fill the room that they see, and no more.
func TestBoundIsReached(t *testing.T) {
	t.Parallel()
	const n, limit, before = 5, 100, 80
	none := func() time.Duration { return 0 }
	w, err := newWorld(n, limit, 1<<40, none, none)
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		w.rows[fmt.Sprint("old", i)] = 1
	}
	for range 3 {
		w.measure()
	}
	for i, p := range w.processes {
		if err := p.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		for k := range limit {
			if err := w.write(p, "put", fmt.Sprint(i, " ", k), 1, 0, true); err != nil && !errors.Is(err, quota.ErrQuota) {
				t.Fatal(err)
			}
		}
	}
	if rows, _ := w.total(); rows != limit+(n-1)*(limit-before) {
		t.Errorf("%d rows, want %d", rows, limit+(n-1)*(limit-before))
	}
	// Once all know of it nobody writes, until it was measured under 90%.
	w.advance(time.Hour)
	for range 3 {
		w.measure()
	}
	for _, p := range w.processes {
		if err := p.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.write(p, "put", "more", 1, 0, true); !errors.Is(err, quota.ErrQuota) {
			t.Errorf("%v, want ErrQuota", err)
		}
	}
}
