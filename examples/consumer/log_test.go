package main

import "testing"

// A position appears when all positions before it have.
func TestPositionsAreInTheOrderOfCommits(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	first, second := begin(t, pool), begin(t, pool)
	if have := mustAppend(t, first, 2); have != 2 {
		t.Fatalf("the first appender came to position %d, want 2", have)
	}
	position := appendBehind(t, pool, second)
	if n, err := c.step(t.Context()); n != 0 || err != nil {
		t.Errorf("before the commit: %d events, %v; want none", n, err)
	}
	mustCommit(t, first)
	if have := <-position; have != 3 {
		t.Errorf("the second appender came to position %d, want 3", have)
	}
	if n, err := c.step(t.Context()); n != 2 || err != nil {
		t.Errorf("between the commits: %d events, %v; want 2", n, err)
	}
	mustCommit(t, second)
	if n, err := c.step(t.Context()); n != 1 || err != nil {
		t.Errorf("after the commits: %d events, %v; want 1", n, err)
	}
	mustReport(t, pool)
}

func TestARollbackLeavesNoGap(t *testing.T) {
	t.Parallel()
	pool, c := tables(t)
	first, second := begin(t, pool), begin(t, pool)
	mustAppend(t, first, 2)
	position := appendBehind(t, pool, second)
	if err := first.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if have := <-position; have != 1 {
		t.Errorf("the second appender came to position %d, want 1", have)
	}
	mustCommit(t, second)
	if n, err := c.step(t.Context()); n != 1 || err != nil {
		t.Errorf("%d events, %v; want 1", n, err)
	}
	mustReport(t, pool)
}
