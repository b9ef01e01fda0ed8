// Mutants shows that the tests bite: it makes small wrong changes to sql/ and kvpg/, one at a time, and runs the test that
// must then fail.
//
//	mutants [-run regexp] [-quick] [-suite=false] [-jobs n]
//
// It runs in the root of the repository, under with-postgres ("make mutants"). The list of the changes is in list_*.go; it
// stays, so that the next person knows what the tests hold. For each of them:
//
//   - the change is made in a copy of the tree; its old text must be there exactly once, or the run fails at once: the code has
//     moved on, and so must the list;
//   - the named test runs alone. It has passed before, on the tree as it is, or its failure would say nothing;
//   - only when it passes, the mutant has survived, and all tests of all modules run.
//
// The last lines are the table. The exit status is 0 when the named test has killed every mutant, and 1 otherwise: a mutant
// that does not build or install, or that another test than the named one killed, is a fault of the list, and one that no test
// kills is a hole in the tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"
)

func main() {
	ok, err := runAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func runAll() (ok bool, err error) {
	pattern := flag.String("run", "", "only the mutants whose name matches this `regexp`")
	quick := flag.Bool("quick", false, "only the ten that CI runs")
	all := flag.Bool("suite", true, "run all tests for a mutant that the named test lets live")
	jobs := flag.Int("jobs", 2, "how many at a time")
	flag.Parse()
	if os.Getenv("KV_TEST_DATABASE_URL") == "" {
		return false, errors.New("no database: run make mutants, or set KV_TEST_DATABASE_URL")
	}
	wanted, err := regexp.Compile(*pattern)
	if err != nil {
		return false, err
	}
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return *quick && !m.quick || !wanted.MatchString(m.name) })
	if len(chosen) == 0 {
		return false, errors.New("no mutant has such a name")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := check(".", chosen); err != nil {
		return false, err
	}

	began := time.Now()
	trees, remove, err := copies(".", min(*jobs, len(chosen)))
	defer remove()
	if err != nil {
		return false, err
	}
	if err := passUnchanged(ctx, trees, chosen); err != nil {
		return false, err
	}
	fmt.Printf("the named tests pass on the tree as it is (%.0f s); now %d mutants, %d at a time\n",
		time.Since(began).Seconds(), len(chosen), len(trees))
	results := make([]result, len(chosen))
	err = spread(trees, len(chosen), func(tree string, i int) (err error) {
		results[i], err = try(ctx, tree, chosen[i], *all)
		if err == nil {
			fmt.Println(results[i])
		}
		return err
	})
	if err != nil {
		return false, err
	}
	return report(results, time.Since(began)), nil
}

// spread runs n pieces of work, each in one of the trees, and stops at the first error.
func spread(trees []string, n int, work func(tree string, i int) error) error {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var mu sync.Mutex
	var first error
	failed := func(err error) bool {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		return first != nil
	}
	var running sync.WaitGroup
	for _, tree := range trees {
		running.Go(func() {
			for i := range next {
				if failed(nil) || failed(work(tree, i)) {
					return
				}
			}
		})
	}
	running.Wait()
	return first
}
