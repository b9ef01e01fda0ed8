package cluster_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/cluster"
	"github.com/queenkv/queenkv/tests/testdb"
)

func exec(t *testing.T, c *cluster.Cluster, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func TestKillRestartStop(t *testing.T) {
	t.Parallel()
	b, err := cluster.In(testdb.PostgresBin(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start(t.Context(), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is left: %v", err)
		}
	})
	exec(t, c, "create table kept as select 1 as n")
	for _, end := range []func() error{c.Kill, c.Shutdown} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if conn, err := pgx.Connect(t.Context(), c.URL()); err == nil {
			_ = conn.Close(t.Context())
			t.Error("a server that has ended answers")
		}
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec(t, c, "update kept set n = n + 1")
	}
}
