package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A language is one that the page has snippets in.
type language struct {
	name, fence, extension string

	begin    string                   // stands before the first snippet
	echo     string                   // prints a line, given as %s
	takesURL bool                     // as its last argument; every program has it in DATABASE_URL
	flat     func(text string) string // what is compared

	prepare func(ctx context.Context, dir string) (*prepared, error)
}

// Prepared is what it takes to run a language's program.
type prepared struct {
	dir     string   // where the program's file is to be
	command []string // that runs the file which follows
	env     []string
	version string // for the reader of the output
}

var languages = []language{
	{
		name: "psql", fence: "sql", extension: ".sql", takesURL: true, flat: flatTables, prepare: preparePsql,
		begin: "\\set QUIET on\n\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\nset TimeZone = 'UTC';\n", echo: `\echo '%s'`,
	},
	{
		name: "Node", fence: "js", extension: ".mjs", flat: trimmed, prepare: prepareNode,
		echo: "console.log('%s')",
	},
	{
		name: "Python", fence: "python", extension: ".py", flat: trimmed, prepare: preparePython,
		echo: "print('%s', flush=True)",
	},
}

func preparePsql(ctx context.Context, dir string) (*prepared, error) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		return nil, unavailable("there is no psql")
	}
	version, err := output(ctx, dir, psql, "--version")
	if err != nil {
		return nil, err
	}
	dir, err = folder(dir, "psql")
	if err != nil {
		return nil, err
	}
	// Read from standard input, psql shows errors without the file's name. The shell is there to give it the file so.
	return &prepared{dir: dir, command: []string{"sh", "-c", `exec "$0" -X "$2" <"$1"`, psql}, version: version}, nil
}

// folder makes dir/name, and gives its absolute path.
func folder(dir, name string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o755)
}

// output runs a program and gives what it printed, on one line.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if _, err := os.Stat(dir); err == nil {
		cmd.Dir = dir
	}
	text, err := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(text)), " "), err
}
