package quota

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
)

type untouched struct{ t *testing.T }

func (db untouched) QueryRow(context.Context, string, ...any) pgx.Row {
	db.t.Error("the database was asked")
	return nil
}

func TestNewRefusesOptionsBelowZero(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"Every": {Every: -1}, "Timeout": {Timeout: -1}, "CommitWithin": {CommitWithin: -1}, "MaxStale": {MaxStale: -1}, "MaxTenants": {MaxTenants: -1},
	} {
		if _, err := New(t.Context(), untouched{t}, &opts); err == nil || !strings.Contains(err.Error(), "Options."+name+" is -1") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// empty is a database whose tenants have no quota.
type empty struct{ asked *atomic.Int64 }

func (db empty) QueryRow(context.Context, string, ...any) pgx.Row {
	db.asked.Add(1)
	return db
}

func (empty) Scan(dest ...any) error {
	switch d := dest[0].(type) {
	case *int: // the schema's version
		*d = 1
	case *string:
		*d = "[]"
	}
	return nil
}

// The longest time there is between readings means that there is none but New's, and not that they follow each other at once.
func TestEveryForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asked atomic.Int64
		const enforcers = 20 // each draws its own wait
		for range enforcers {
			q, err := New(ctx, empty{&asked}, &Options{Every: math.MaxInt64})
			if err != nil {
				t.Fatal(err)
			}
			go q.Run(ctx)
		}
		time.Sleep(365 * 24 * time.Hour)
		cancel()
		synctest.Wait()
		if n := asked.Load(); n != 2*enforcers { // the schema's version, and the first reading
			t.Errorf("asked %d times, want %d", n, 2*enforcers)
		}
	})
}
