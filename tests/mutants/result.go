package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/tern/v2/migrate"

	"github.com/queenkv/queenkv/tests/testdb"
)

// What became of a mutant.
const (
	killed       = "killed"
	notBuilt     = "does not build"
	notInstalled = "does not install"
	killedLater  = "killed by another test"
	survived     = "SURVIVED"
)

type result struct {
	mutant mutant
	fate   string
	by     string // the test that failed
	took   time.Duration
}

func (r result) String() string {
	by := r.by
	if r.fate == survived {
		by = r.mutant.why
	}
	return fmt.Sprintf("%-46s %-22s %7.1f  %.70s", r.mutant.name, r.fate, r.took.Seconds(), by)
}

// passUnchanged runs the named tests on trees that nobody has changed.
func passUnchanged(ctx context.Context, trees []string, list []mutant) error {
	killers := map[string][]killer{} // by folder: each is built once
	for _, m := range list {
		if k := m.killer; !slices.Contains(killers[k.folder], k) {
			killers[k.folder] = append(killers[k.folder], k)
		}
	}
	folders := slices.Sorted(maps.Keys(killers))
	return spread(trees, len(folders), func(tree string, i int) error {
		binary, err := build(ctx, tree, folders[i])
		if err != nil {
			return err
		}
		defer os.Remove(binary)
		for _, k := range killers[folders[i]] {
			o, err := run(ctx, tree, binary, k)
			if err == nil && !o.passed {
				err = fmt.Errorf("%v fails on the tree as it is:\n%s", k, o.output)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// try finds out what becomes of a mutant, by the named test, and by all of them where that lets it live.
func try(ctx context.Context, tree string, m mutant, all bool) (result, error) {
	r := result{mutant: m, fate: killed}
	began := time.Now()
	err := m.in(tree, func() error {
		if strings.HasPrefix(m.file, "sql/") {
			defer dropTemplates(ctx, tree)
		}
		o, err := test(ctx, tree, m.killer)
		switch {
		case errors.Is(err, errBuild):
			r.fate, r.by = notBuilt, firstLine(err.Error())
			return nil
		case err != nil:
			return err
		case o.notInstalled():
			r.fate, r.by = notInstalled, o.by
			return nil
		case !o.passed:
			r.by = o.by
			return nil
		case !all:
			r.fate = survived
			return nil
		}
		o, err = suite(ctx, tree)
		r.fate, r.by = killedLater, o.by
		if o.passed {
			r.fate = survived
		}
		return err
	})
	r.took = time.Since(began)
	return r, err
}

func firstLine(s string) string {
	lines := strings.SplitN(strings.TrimSpace(s), "\n", 4)
	return lines[min(2, len(lines)-1)] // after our own words and the package's name
}

// dropTemplates drops the template databases of a mutant, which no later run will want: a server that somebody lent us keeps
// nothing of it.
func dropTemplates(ctx context.Context, tree string) {
	err := func() error {
		pkg, err := migrate.LoadCodePackage(os.DirFS(filepath.Join(tree, "sql")))
		if err != nil {
			return err
		}
		sql, err := pkg.Eval(map[string]any{})
		if err != nil {
			return err
		}
		return testdb.DropTemplates(context.WithoutCancel(ctx), sql)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants: a template database is left on the server:", err)
	}
}

// report prints the table and the counts, and tells whether all is as it should be.
func report(results []result, took time.Duration) bool {
	fates := map[string]int{}
	fmt.Printf("\n%-46s %-22s seconds  by\n", "mutant", "fate")
	for _, r := range results {
		fates[r.fate]++
		fmt.Println(r)
	}
	fmt.Printf("mutants: %d of %d killed by the test that must, %d by another test, %d do not build or install, %d survived; %.0f s\n",
		fates[killed], len(results), fates[killedLater], fates[notBuilt]+fates[notInstalled], fates[survived], took.Seconds())
	return fates[killed] == len(results)
}
