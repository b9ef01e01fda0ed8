package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A result is what a run of the program said, in its own JSON.
type result struct {
	name  string
	ended string // its exit status, or SIGKILL

	lastWords string // the last line that a killed process logged

	File struct {
		Distinct, Duplicates, Rivals, Malformed int
		Cents                                   int64
	}
	Run *struct {
		Effects, Replays, InFlight, Refusals, Malformed int
	}
	Books struct {
		Effects, Doubles int
		Cents            int64
	}
	Checks []struct {
		Group string
		OK    bool
	}
}

// failedGroups gives the groups of the checks that failed, each once.
func (r *result) failedGroups() (groups []string) {
	for _, c := range r.Checks {
		if !c.OK && !slices.Contains(groups, c.Group) {
			groups = append(groups, c.Group)
		}
	}
	return groups
}

type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	startErr       error
}

// start runs the program on books of its own, which a schema is.
func (s *stage) start(ctx context.Context, schema string, flags ...string) *process {
	args := append([]string{"-json", "-schema", schema}, flags...)
	p := &process{cmd: exec.CommandContext(ctx, s.binary, append(args, s.file)...)}
	p.cmd.Env = append(os.Environ(), "KV_TEST_DATABASE_URL="+s.url) // not an argument: those are for all to see
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.startErr = p.cmd.Start()
	return p
}

// wait gives the report, which a killed process has not printed. A run that printed none for another reason is an error.
func (p *process) wait() (result, error) {
	if p.startErr != nil {
		return result{}, p.startErr
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result{}, err
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		said := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
		return result{ended: "SIGKILL", lastWords: said[len(said)-1]}, nil
	}
	r := result{ended: strconv.Itoa(p.cmd.ProcessState.ExitCode())}
	if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil {
		return result{}, fmt.Errorf("payments ended with %s and no report:\n%s", p.cmd.ProcessState, p.stderr.Bytes())
	}
	return r, nil
}

// run is start and wait for a run that gives a report, which is kept for the table.
func (s *stage) run(ctx context.Context, name, schema string, flags ...string) (result, error) {
	r, err := s.start(ctx, schema, flags...).wait()
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", name, err)
	}
	if ctx.Err() != nil {
		return result{}, context.Cause(ctx)
	}
	if r.ended == "SIGKILL" {
		return result{}, fmt.Errorf("%s: it was killed", name)
	}
	r.name = name
	s.results = append(s.results, r)
	return r, nil
}
