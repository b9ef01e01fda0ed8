package testdb

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/cluster"
)

// Server starts a server of the test's own, with the schema in its database postgres, for a test that stops it, sets what no session
// can, or measures what transactions of other databases change. Where there are no binaries the test is counted as not run.
func Server(t testing.TB, opts *cluster.Options) *cluster.Cluster {
	t.Helper()
	b, err := cluster.In(PostgresBin(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start(t.Context(), b, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(queenkv.Install(t.Context(), conn, nil), conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return c
}
