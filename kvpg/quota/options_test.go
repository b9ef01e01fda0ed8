package quota

import (
	"context"
	"strings"
	"testing"

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
