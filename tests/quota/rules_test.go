package quota

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/quota"
)

// Blocked at 100%, released when a new measurement is under 90%, and not at 90.
func TestReleasedUnder90(t *testing.T) {
	t.Parallel()
	limit, rows, age := int64(10), int64(8), time.Duration(0)
	db := one(&limit, &rows, &age)
	now := start
	q := enforcer(t, db, &quota.Options{Now: func() time.Time { return now }, CommitWithin: time.Second})
	for i, want := range []bool{true, true, false, false} {
		if got := put(t, q, db, things, fmt.Sprint("k", i)); got != want {
			t.Errorf("put %d beside 8 measured rows of 10: %v, want %v", i, got, want)
		}
	}
	now = now.Add(time.Hour)
	for _, c := range []struct {
		measured int64
		want     bool
	}{{10, false}, {9, false}, {8, true}, {9, true}, {10, false}, {9, false}, {25, false}, {8, true}} {
		rows = c.measured
		refresh(t, q)
		now = now.Add(time.Hour)
		// A tenant who is not blocked has room for a row that is tried and lost.
		db.apply = func([]map[string]any) ([]map[string]any, error) {
			return []map[string]any{{"op": "put", "applied": false, "reason": "version", "version": 2}}, nil
		}
		if got := put(t, q, db, things, "k"); got != c.want {
			t.Errorf("%d measured rows of 10: allowed is %v, want %v", c.measured, got, c.want)
		}
	}
	_, err := q.Put(t.Context(), db, things, "k", 1, kvpg.Forever(), nil)
	if err != nil {
		t.Error(err)
	}
}

// A write counts beside a measurement until one was made CommitWithin after its verdict. The measurement's instant is told by its age
// alone, whatever this process's clock says.
func TestMeasurementBeforeTheWrite(t *testing.T) {
	t.Parallel()
	limit, rows, age := int64(100), int64(5), time.Duration(0)
	db := one(&limit, &rows, &age)
	now := start
	q := enforcer(t, db, &quota.Options{Now: func() time.Time { return now }, CommitWithin: time.Minute})
	put(t, q, db, things, "k")
	wantRows(t, q, things, 6)
	now = start.Add(10 * time.Minute)
	for _, c := range []struct {
		age  time.Duration
		want int64
	}{
		{11 * time.Minute, 6},                 // measured before the write
		{9*time.Minute + 30*time.Second, 6},   // half a minute after it: its transaction may have been open
		{9 * time.Minute, 6},                  // CommitWithin after it, and not more
		{-time.Hour, 6},                       // stamped in the future
		{9*time.Minute - time.Millisecond, 5}, // holds it
	} {
		age = c.age
		refresh(t, q)
		wantRows(t, q, things, c.want)
	}
	put(t, q, db, things, "k")
	wantRows(t, q, things, 6)
}

// A tenant who was never measured stores what this process wrote, for as long as nobody measures him.
func TestNeverMeasured(t *testing.T) {
	t.Parallel()
	limit, rows := int64(3), int64(0)
	db := one(&limit, &rows, nil)
	now := start
	q := enforcer(t, db, &quota.Options{Now: func() time.Time { return now }})
	for i, want := range []bool{true, true, true, false} {
		now = now.Add(time.Hour)
		refresh(t, q)
		if got := put(t, q, db, things, fmt.Sprint("k", i)); got != want {
			t.Errorf("put %d of 3: %v, want %v", i, got, want)
		}
	}
}

// A key is one row, however often it is written.
func TestKeysCountOnce(t *testing.T) {
	t.Parallel()
	limit, rows := int64(10), int64(0)
	db := one(&limit, &rows, nil)
	q := enforcer(t, db, nil)
	for range 50 {
		if !put(t, q, db, things, "same") {
			t.Fatal("refused")
		}
	}
	wantRows(t, q, things, 1)
	put(t, q, db, kvpg.NewNamespace("other"), "same")
	wantRows(t, q, things, 2)
}

// What is under way counts: the second of two calls at once finds no room that the first may take.
func TestCallsUnderWay(t *testing.T) {
	t.Parallel()
	limit, rows := int64(10), int64(9)
	db := one(&limit, &rows, nil)
	q := enforcer(t, db, nil)
	var within error
	db.apply = func([]map[string]any) ([]map[string]any, error) {
		db.apply = nil
		_, within = q.Put(t.Context(), db, things, "second", 1, kvpg.Forever(), nil)
		return []map[string]any{{"op": "put", "applied": false, "reason": "version", "version": 2}}, nil
	}
	if !put(t, q, db, things, "first") {
		t.Error("the first is refused")
	}
	refused(t, within, quota.ReasonRows, 10, 10)
	if !put(t, q, db, things, "third") {
		t.Error("the room of a write that lost is not free again")
	}
	wantRows(t, q, things, 10)
}

// What was refused by PostgreSQL or the driver is not there; what became of a call whose answer is lost nobody knows.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	limit, rows := int64(10), int64(0)
	db := one(&limit, &rows, nil)
	q := enforcer(t, db, nil)
	fail := errors.New("unexpected EOF")
	db.apply = func([]map[string]any) ([]map[string]any, error) { return nil, fail }
	if _, err := q.Put(t.Context(), db, things, "k", 1, kvpg.Forever(), nil); !errors.Is(err, fail) {
		t.Errorf("%v, want %v", err, fail)
	}
	wantRows(t, q, things, 1)
	for state, unknown := range map[string]bool{"40001": false, "23505": false, "57P01": true, "08006": true} {
		db.apply = func([]map[string]any) ([]map[string]any, error) { return nil, sqlError(state) }
		before, _ := q.Usage(things.Tenant())
		_, _ = q.Put(t.Context(), db, things, state, 1, kvpg.Forever(), nil)
		after, _ := q.Usage(things.Tenant())
		if (after.Rows > before.Rows) != unknown {
			t.Errorf("%s: counted from %d to %d", state, before.Rows, after.Rows)
		}
	}
	before, _ := q.Usage(things.Tenant())
	if _, err := q.Put(t.Context(), db, things, "", 1, kvpg.Forever(), nil); !errors.Is(err, kvpg.ErrBadKey) {
		t.Errorf("%v, want ErrBadKey", err)
	}
	wantRows(t, q, things, before.Rows)
}

type sqlError string

func (e sqlError) Error() string    { return "server: " + string(e) }
func (e sqlError) SQLState() string { return string(e) }

// A call is judged whole; one that doesn't fit blocks nobody who does.
func TestCallThatDoesNotFit(t *testing.T) {
	t.Parallel()
	limit, rows := int64(10), int64(5)
	db := one(&limit, &rows, nil)
	q := enforcer(t, db, nil)
	var ops []kvpg.Op
	for i := range 6 {
		ops = append(ops, kvpg.PutOp(things, fmt.Sprint("k", i), i, kvpg.Forever(), nil))
	}
	_, err := q.Apply(t.Context(), db, ops...)
	refused(t, err, quota.ReasonRows, 10, 5)
	if _, err = q.Apply(t.Context(), db, ops[:5]...); err != nil {
		t.Error(err)
	}
	_, err = q.Apply(t.Context(), db, ops[0])
	refused(t, err, quota.ReasonRows, 10, 10)
}

// Nobody is forgotten to make room for another; who finds no place is refused where a grant is required.
func TestMaxTenants(t *testing.T) {
	t.Parallel()
	limit := int64(2)
	var told []error
	ids := []byte{1}
	db := &fake{read: func() (lines []line, err error) {
		for _, b := range ids {
			lines = append(lines, line{Tenant: tenantText([16]byte{b}), MaxRows: &limit})
		}
		return lines, nil
	}}
	opts := quota.Options{MaxTenants: 2, OnError: func(err error) { told = append(told, err) }}
	open := enforcer(t, db, &opts)
	opts.RequireGrant = true
	closed := enforcer(t, db, &opts)
	if len(told) > 0 {
		t.Errorf("told of %v", told)
	}
	for _, q := range []*quota.Enforcer{open, closed} {
		put(t, q, db, things.For([16]byte{1}), "a")
		put(t, q, db, things.For([16]byte{1}), "b")
	}
	ids = []byte{4, 3, 2, 1}
	for _, q := range []*quota.Enforcer{open, closed} {
		if err := q.Refresh(t.Context()); err == nil {
			t.Error("a reading of more tenants than there is place for gives no error")
		}
		if put(t, q, db, things.For([16]byte{1}), "c") {
			t.Error("what the first tenant wrote is forgotten")
		}
		if _, ok := q.Usage([16]byte{4}); !ok {
			t.Error("the second place stays empty")
		}
	}
	if !put(t, open, db, things.For([16]byte{2}), "a") {
		t.Error("who found no place is refused though no grant is required")
	}
	_, err := closed.Put(t.Context(), db, things.For([16]byte{2}), "a", 1, kvpg.Forever(), nil)
	refused(t, err, quota.ReasonNoGrant, 0, 0)
	if enforcer(t, db, &opts); len(told) != 1 {
		t.Errorf("New tells of %d errors, want 1", len(told))
	}
	ids = []byte{3} // a place is free when a quota is taken away
	refresh(t, closed)
	_, err = closed.Put(t.Context(), db, things.For([16]byte{1}), "a", 1, kvpg.Forever(), nil)
	refused(t, err, quota.ReasonNoGrant, 0, 0)
	if !put(t, closed, db, things.For([16]byte{3}), "a") {
		t.Error("who found a place is refused")
	}
}

// While readings fail, what is known stays in force and own writes count; with MaxStale all are refused in the end.
func TestReadingsFail(t *testing.T) {
	t.Parallel()
	limit, rows, age := int64(5), int64(0), time.Duration(0)
	db := one(&limit, &rows, &age)
	now := start
	opts := quota.Options{Now: func() time.Time { return now }}
	goesOn := enforcer(t, db, &opts)
	opts.MaxStale = time.Minute
	stops := enforcer(t, db, &opts)
	broken := errors.New("no route to host")
	db.read = func() ([]line, error) { return nil, broken }
	for i := range 7 {
		now = now.Add(12 * time.Second)
		for _, q := range []*quota.Enforcer{goesOn, stops} {
			if err := q.Refresh(t.Context()); !errors.Is(err, broken) {
				t.Fatalf("%v, want %v", err, broken)
			}
		}
		if got, want := put(t, goesOn, db, things, fmt.Sprint(i)), i < 5; got != want {
			t.Errorf("put %d of 5: %v", i, got)
		}
	}
	_, err := stops.Put(t.Context(), db, things, "k", 1, kvpg.Forever(), nil)
	refused(t, err, quota.ReasonStale, 0, 0)
	if !put(t, stops, db, things.For([16]byte{9}), "k") {
		t.Error("a tenant without a quota is refused")
	}
	if _, err := quota.New(t.Context(), db, nil); !errors.Is(err, broken) {
		t.Errorf("New: %v, want %v", err, broken)
	}
}

// Run reads every ten seconds, more or less, tells of failures, and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		db := &fake{read: func() ([]line, error) {
			at = append(at, time.Now())
			if len(at)%2 == 0 {
				return nil, errors.New("failed")
			}
			return nil, nil
		}}
		failures := 0
		q := enforcer(t, db, &quota.Options{OnError: func(error) { failures++ }})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			q.Run(ctx)
			close(ended)
		}()
		time.Sleep(1000 * time.Second) // of the bubble's clock
		stop()
		<-ended
		waits := map[time.Duration]bool{}
		for i := 1; i < len(at); i++ {
			wait := at[i].Sub(at[i-1])
			if wait < 8*time.Second || wait > 12*time.Second {
				t.Errorf("a reading %v after the one before", wait)
			}
			waits[wait] = true
		}
		if len(at) < 83 || failures != len(at)/2 || len(waits) < 50 {
			t.Errorf("%d readings, %d failures told, %d different waits", len(at), failures, len(waits))
		}
	})
}

// Allow counts at once, and what is given back is free.
func TestAllow(t *testing.T) {
	t.Parallel()
	limit, rows, age := int64(10), int64(0), time.Duration(0)
	db := one(&limit, &rows, &age)
	now := start
	q := enforcer(t, db, &quota.Options{Now: func() time.Time { return now }})
	grant, err := q.Allow(things, 9, 100)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, q, things, 9)
	_, err = q.Allow(things, 2, 0)
	refused(t, err, quota.ReasonRows, 10, 9)
	grant.GiveBack(4, 100)
	wantRows(t, q, things, 5)
	grant.GiveBack(100, 100)
	wantRows(t, q, things, 0)
	if grant, err = q.Allow(things, 3, 0); err != nil {
		t.Fatal(err)
	}
	now, rows = now.Add(time.Hour), 3
	refresh(t, q)
	grant.GiveBack(3, 0) // the measurement has it already
	wantRows(t, q, things, 3)
	free, err := q.Allow(things.For([16]byte{9}), 1000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	free.GiveBack(1, 1)
	// However long no measurement comes, what is written down stays small, and nothing of it is forgotten.
	limit, age = 1000, 1000*time.Hour
	refresh(t, q)
	for range 100 {
		now = now.Add(time.Hour)
		if _, err := q.Allow(things, 1, 0); err != nil {
			t.Fatal(err)
		}
	}
	wantRows(t, q, things, 103)
}
