package main

import (
	"testing"

	"github.com/queenkv/queenkv/bench/internal/server"
)

// newBench is a bench with tiny tables.
func newBench(t *testing.T) *bench {
	bin, err := server.Binaries()
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Start(t.Context(), bin, false)
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
