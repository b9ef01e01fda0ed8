// Package proof is what the tests share that have a short form, for "make test", and a long one, for "make proof".
package proof

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

// Size is how much a test does: the number in the environment variable, or short where it isn't set. Anything but a
// number above zero fails the test: a misspelt size must not pass for a long run.
func Size(t testing.TB, variable string, short int) int {
	t.Helper()
	text, set := os.LookupEnv(variable)
	if !set {
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("%s is %q; it must be a number above zero", variable, text)
	}
	return n
}

// Report logs a line of figures, and appends it to the file that KV_TEST_REPORT names, if it does: go test shows what a
// passing test logs under -v alone.
func Report(t testing.TB, line string) {
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
