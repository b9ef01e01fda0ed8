package fuzz

import (
	"errors"
	"os"
	"testing"
)

// report logs a line, and appends it to the file that KV_TEST_REPORT names, if it does: go test shows what a passing test logs
// under -v alone.
func report(t testing.TB, line string) {
	t.Helper()
	t.Log(line)
	path := os.Getenv("KV_TEST_REPORT")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(t.Name() + ": " + line + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
