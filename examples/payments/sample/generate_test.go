package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The shipped files are what this generator makes: `go generate ./payments` in examples/ after a change.
func TestShippedFilesAreGenerated(t *testing.T) {
	s := generate()
	for name, want := range map[string][]byte{"deliveries.jsonl": s.file(), "expected.json": s.truth()} {
		have, err := os.ReadFile(filepath.Join("..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("testdata/%s is not what the generator makes: run go generate ./payments in examples/", name)
		}
	}
}
