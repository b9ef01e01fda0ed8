package main

import (
	"testing"

	"github.com/queenkv/queenkv/bench/internal/server"
	"github.com/queenkv/queenkv/tests/cluster"
	"github.com/queenkv/queenkv/tests/testdb"
)

// binaries are those of PostgreSQL; a test that finds none is counted as not run.
func binaries(t *testing.T) cluster.Binaries {
	t.Helper()
	bin, err := server.Binaries()
	if err != nil {
		testdb.NotRun(t, "no PostgreSQL binaries to start a server with")
	}
	return bin
}

// newBench is a bench with tiny tables.
func newBench(t *testing.T) *bench {
	t.Helper()
	s, err := server.Start(t.Context(), binaries(t), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &bench{server: s, size: sizes{rows: 2000, small: 1000, big: 3000, large: 1000, rounds: 1, seconds: 0.01, warm: 0.005}}
}

// Settings are there when set returns, and gone when reset does.
func TestSettings(t *testing.T) {
	b := newBench(t)
	want := []string{"commit_delay = 1000", "commit_siblings = 0"}
	for _, step := range []struct {
		do    func() error
		there bool
	}{{func() error { return b.set(t.Context(), want) }, true}, {func() error { return b.reset(t.Context(), want) }, false}} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if there, err := b.shows(t.Context(), want); err != nil || there != step.there {
			t.Errorf("there is %t, want %t; %v", there, step.there, err)
		}
	}
}
