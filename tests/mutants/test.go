package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A run of tests came to this.
type outcome struct {
	passed bool
	// by is the first test that failed, or what else ended the run.
	by     string
	output string
}

// errBuild is a package that does not compile.
var errBuild = errors.New("it does not build")

// test builds a package's tests in a tree and runs those that a pattern names, to the first failure.
func test(ctx context.Context, tree string, k killer) (outcome, error) {
	binary, err := build(ctx, tree, k.folder)
	if err != nil {
		return outcome{}, err
	}
	defer os.Remove(binary)
	return run(ctx, tree, binary, k)
}

// build gives a program that holds a package's tests.
func build(ctx context.Context, tree, folder string) (string, error) {
	binary := filepath.Join(tree, "mutants.test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	cmd.Dir = filepath.Join(tree, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(ctx.Err(), fmt.Errorf("%s: %w\n%s", folder, errBuild, out))
	}
	return binary, nil
}

func run(ctx context.Context, tree, binary string, k killer) (outcome, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.v", "-test.failfast", "-test.timeout=2m", "-test.run="+k.run)
	cmd.Dir = filepath.Join(tree, k.folder)
	cmd.Env = append(os.Environ(), "KV_TEST_REPORT=") // what a mutant counts is of no interest
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if !strings.Contains(string(out), "=== RUN") {
		return outcome{}, fmt.Errorf("%v: no such test\n%s", k, out)
	}
	return outcome{passed: err == nil, by: failed(string(out)), output: string(out)}, nil
}

// failure is a line in which go test names a test that failed; those of subtests are indented, and follow their parent's.
var failure = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// failed names the first test that failed, as deep as it goes.
func failed(output string) string {
	by := ""
	for _, m := range failure.FindAllStringSubmatch(output, -1) {
		if by != "" && !strings.HasPrefix(m[1], by+"/") {
			break
		}
		by = m[1]
	}
	if strings.Contains(output, "panic: test timed out") {
		return strings.TrimSpace("a timeout " + by)
	}
	return by
}

// notInstalled is what package testdb says when sql/ can't be installed.
func (o outcome) notInstalled() bool { return strings.Contains(o.output, "testdb: the template:") }

// suite runs every test of every module of a tree, and names the first that failed. Left out are the comparison of what is
// generated with sql/, which would fail for any change to it, and this package.
func suite(ctx context.Context, tree string) (outcome, error) {
	if err := regenerate(ctx, tree); err != nil {
		return outcome{}, err
	}
	modules, err := filepath.Glob(filepath.Join(tree, "*", "go.mod"))
	if err != nil {
		return outcome{}, err
	}
	for _, module := range append([]string{filepath.Join(tree, "go.mod"), filepath.Join(tree, "cmd", "kv-sweeper", "go.mod")}, modules...) {
		list := exec.CommandContext(ctx, "go", "list", "./...")
		list.Dir = filepath.Dir(module)
		names, err := list.Output()
		if err != nil {
			return outcome{}, fmt.Errorf("go list in %s: %w", list.Dir, err)
		}
		args := []string{"test", "-vet=off", "-trimpath", "-count=1", "-failfast", "-v"}
		for name := range strings.FieldsSeq(string(names)) {
			if !strings.HasSuffix(name, "/tests/verify") && !strings.HasSuffix(name, "/tests/mutants") {
				args = append(args, name)
			}
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = list.Dir
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		if o := (outcome{passed: err == nil, by: failed(string(out)), output: string(out)}); !o.passed {
			return o, nil
		}
	}
	return outcome{passed: true}, nil
}

// regenerate makes dist/ and the last snapshot anew, so that the tests that compare the ways to install see the mutant in all
// of them. A folder without tags is enough of a repository for that.
func regenerate(ctx context.Context, tree string) error {
	for _, args := range [][]string{{"git", "init", "-q", tree}, {"go", "run", "./generate", "dist"}, {"go", "run", "./generate", "snapshot"}} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = filepath.Join(tree, "tests")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}
