// Snippets runs the examples of docs/other-languages.md in the languages that they are written in, and compares what they
// print with the page.
//
//	snippets [-page FILE] [-dir FOLDER]
//
// The blocks of one language, fenced as sql, js or python, are one program, from the top of the page to its end, which runs
// against a database of its own. What a block prints is in the block fenced as text right below it; a block without one must
// print nothing. Versions and times may be others than the page shows, as in the rest of the documentation (package page).
//
// What a language needs is installed below FOLDER, at the versions that are pinned here, and nothing elsewhere. A language
// that can't be had is written, with the reason, to the file that KV_TEST_NOT_RUN names: with-postgres counts it in its last
// line. Without that file it is a failure.
//
// KV_TEST_DATABASE_URL names the server, by a role with CREATEDB. The exit status is 0 when every block that ran printed what
// the page says, else 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/queenkv/queenkv/tests/page"
)

func main() {
	path := flag.String("page", "docs/other-languages.md", "the page")
	dir := flag.String("dir", "bin/snippets", "where to install what the languages need")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *path, *dir)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "snippets:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, dir string) error {
	url := os.Getenv("KV_TEST_DATABASE_URL")
	if url == "" {
		return errors.New("no database: run make test-snippets, or set KV_TEST_DATABASE_URL (a role with CREATEDB)")
	}
	blocks, err := page.Blocks(path)
	if err != nil {
		return err
	}
	var failures []error
	for _, l := range languages {
		list := snippetsOf(blocks, l.fence)
		if len(list) == 0 {
			return fmt.Errorf("%s has no block for %s, fenced as %s", path, l.name, l.fence)
		}
		failures = append(failures, try(ctx, l, list, path, dir, url))
	}
	return errors.Join(failures...)
}

// try runs a language's snippets, or notes why it can't.
func try(ctx context.Context, l language, list []snippet, path, dir, url string) error {
	p, err := l.prepare(ctx, dir)
	if errors.Is(err, errUnavailable) {
		return notRun(l.name, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	printed, err := play(ctx, l, p, list, url)
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	if err := compare(l, list, printed, path); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	fmt.Printf("%s: %d examples print what the page says (%s)\n", l.name, len(list), p.version)
	return nil
}

// errUnavailable is why a language can't be run on this machine.
var errUnavailable = errors.New("not to be had here")

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUnavailable, fmt.Sprintf(format, args...))
}

func notRun(name string, reason error) error {
	line := strings.Join(strings.Fields(fmt.Sprintf("the examples of %s: %v", name, reason)), " ")
	file := os.Getenv("KV_TEST_NOT_RUN")
	if file == "" {
		return errors.New(line)
	}
	fmt.Println("not run:", line)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}
