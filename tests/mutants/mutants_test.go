package main

import (
	"strings"
	"testing"
)

// The list fits the code: each old text stands exactly once where its mutant says.
func TestListFitsTheCode(t *testing.T) {
	t.Parallel()
	if err := check("../..", mutants); err != nil {
		t.Error(err)
	}
	quick := 0
	for _, m := range mutants {
		if m.quick {
			quick++
		}
	}
	if quick != 10 || len(mutants) < 40 {
		t.Errorf("%d mutants, %d of them quick, want 40 or more and 10", len(mutants), quick)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	if got, err := (mutant{old: "> now", new: ">= now"}).apply("a > now"); err != nil || got != "a >= now" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, m := range []mutant{{old: "gone", new: "x"}, {old: "a", new: "x"}, {old: "b", new: "b"}, {new: "x"}} {
		if got, err := m.apply("a b a"); err == nil {
			t.Errorf("%q for %q gave %q, want an error", m.new, m.old, got)
		}
	}
}

func TestFailedNamesTheFirst(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"=== RUN TestA\n--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/b (0.00s)\n        --- FAIL: TestA/b/c (0.00s)\n    --- FAIL: TestA/d (0.00s)\nFAIL\n": "TestA/b/c",
		"--- PASS: TestA (0.01s)\n--- FAIL: TestB (0.01s)\n--- FAIL: TestC (0.01s)\n":                                                                       "TestB",
		"panic: test timed out after 2m0s\n": "a timeout",
		"ok\n":                               "",
	} {
		if got := failed(output); got != want {
			t.Errorf("got %q, want %q, from %s", got, want, strings.TrimSpace(output))
		}
	}
}
