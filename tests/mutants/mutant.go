package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one wrong change.
type mutant struct {
	name string

	// In file, a path below the root, old stands exactly once; new replaces it. With new the tree still builds and the schema
	// still installs.
	file, old, new string

	// why names the promise that is broken.
	why string

	// killer is the test that must fail: a package's folder, and a pattern for -run.
	killer killer

	// quick marks those that CI runs.
	quick bool
}

type killer struct{ folder, run string }

func (k killer) String() string { return k.folder + " " + k.run }

// mutants are all of them.
var mutants = slices.Concat(existence, decisions, increments, batches, reads, refusals, once, patterns, access,
	sweeper, sweeperLoop, driver, transactions, middleware, quotas)

// apply gives the file's text with the change made.
func (m mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 || m.old == "" || m.old == m.new {
		return "", fmt.Errorf("%s: the old text stands %d times in %s, want once, and another text in its place: "+
			"the code has changed, so look whether the mutant still says something", m.name, n, m.file)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

// check tells whether the changes can be made in the tree under root and the tests that must kill them are there, and what is wrong.
func check(root string, list []mutant) error {
	var faults []error
	names := map[string]bool{}
	for _, m := range list {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err == nil {
			_, err = m.apply(string(text))
		}
		if err == nil && (names[m.name] || m.name == "" || m.why == "") {
			err = fmt.Errorf("%q: every mutant has a name of its own and a reason", m.name)
		}
		names[m.name] = true
		faults = append(faults, err, m.killer.check(root))
	}
	return errors.Join(faults...)
}

// testFunc is the head of a test function.
var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)

// check fails unless the folder has a test that the pattern names. Names of subtests are only seen by running it.
func (k killer) check(root string) error {
	top, _, _ := strings.Cut(k.run, "/")
	wanted, err := regexp.Compile(top)
	if err != nil {
		return fmt.Errorf("%v: %w", k, err)
	}
	files, err := filepath.Glob(filepath.Join(root, k.folder, "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			if wanted.Match(m[1]) {
				return nil
			}
		}
	}
	return fmt.Errorf("%v: no such test", k)
}

// in runs f while the change is made in a tree, and undoes it.
func (m mutant) in(tree string, f func() error) error {
	path := filepath.Join(tree, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		return err
	}
	return errors.Join(f(), os.WriteFile(path, text, 0o644))
}
