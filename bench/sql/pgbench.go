package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A reading is what one run of pgbench tells.
type reading struct {
	calls       int     // transactions, each of which is one call
	transaction float64 // microseconds a transaction
	micros      float64 // microseconds a call: the transaction without the fetch of its arguments
	wal         float64 // bytes of WAL a call
}

// bench runs pgbench on one side of a cell, for as long as limit says ("-T seconds" or "-t
// transactions"). The seed makes the two runs of a pair use the same arguments in the same order.
func (s *server) bench(ctx context.Context, c cell, statements []string, clients, seed int, limit ...string) (reading, error) {
	fetch := cmp.Or(c.fetch, fetchCall)
	script := filepath.Join(s.Cluster.Dir, "script.sql")
	if err := os.WriteFile(script, []byte(fetch+strings.Join(statements, "\n")+"\n"), 0o644); err != nil {
		return reading{}, err
	}
	before, err := s.WAL(ctx)
	if err != nil {
		return reading{}, err
	}
	n := strconv.Itoa(clients)
	args := append([]string{"-n", "-r", "-M", "prepared", "-c", n, "-j", n, "-f", script,
		"-D", "calls=" + strconv.Itoa(s.calls), "--random-seed=" + strconv.Itoa(seed)}, limit...)
	cmd := exec.CommandContext(ctx, s.pgbench, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return reading{}, fmt.Errorf("pgbench: %w\n%s", err, stderr.Bytes())
	}
	after, err := s.WAL(ctx)
	if err != nil {
		return reading{}, err
	}
	r, err := parseOutput(stdout.String(), clients, strings.Count(fetch, "\n"))
	if err != nil {
		return reading{}, err
	}
	r.wal = float64(after-before) / float64(r.calls)
	return r, nil
}

// parseOutput reads pgbench's report: the number of transactions, their rate, and the latencies of
// the script's first commands, which are not part of the call.
func parseOutput(out string, clients, fetch int) (reading, error) {
	var r reading
	var rate, fetchMillis float64
	var err error
	latencies := -1 // how many lines of latencies were read; -1: they have not begun
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "number of transactions actually processed: "):
			done, _, _ := strings.Cut(fields[5], "/") // with -t it says 100/100
			r.calls, err = strconv.Atoi(done)
		case strings.HasPrefix(line, "tps = ") && rate == 0:
			rate, err = strconv.ParseFloat(fields[2], 64)
		case strings.HasPrefix(line, "statement latencies in milliseconds"):
			latencies = 0
		case latencies >= 0 && latencies < fetch:
			var millis float64
			millis, err = strconv.ParseFloat(fields[0], 64)
			fetchMillis += millis
			latencies++
		}
		if err != nil {
			return r, fmt.Errorf("pgbench's line %q: %w", line, err)
		}
	}
	if r.calls == 0 || rate == 0 || latencies != fetch {
		return r, fmt.Errorf("pgbench's report is not understood:\n%s", out)
	}
	r.transaction = 1e6 * float64(clients) / rate
	r.micros = r.transaction - 1e3*fetchMillis
	return r, nil
}
