package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/queenkv/queenkv/bench/internal/server"
)

// The rounds of the two loops. Before the short one ends, what a session does once is done, and PostgreSQL has chosen its plans.
const short, long = 10, 30

// A counter is a cluster that was shut down.
type counter struct {
	server   *server.Server
	valgrind string
	version  string
	empty    float64 // thousands of instructions of an empty round
}

func newCounter(ctx context.Context, s *server.Server) (*counter, error) {
	c := &counter{server: s}
	var err error
	if c.valgrind, err = exec.LookPath("valgrind"); err != nil {
		return nil, errors.New("no valgrind in the PATH; it is a package of that name in Debian")
	}
	if err := s.Conn.QueryRow(ctx, `select current_setting('server_version')`).Scan(&c.version); err != nil {
		return nil, err
	}
	if err := s.Exec(ctx, setup...); err != nil {
		return nil, err
	}
	if err := s.Conn.Close(ctx); err != nil {
		return nil, err
	}
	if err := s.Cluster.Shutdown(); err != nil {
		return nil, err
	}
	c.empty, err = c.perRound(ctx, "null;")
	return c, err
}

// count returns thousands of instructions a round of a PL/pgSQL statement, in which n is the round's number.
func (c *counter) count(ctx context.Context, statement string) (float64, error) {
	n, err := c.perRound(ctx, statement)
	return n - c.empty, err
}

func (c *counter) perRound(ctx context.Context, statement string) (float64, error) {
	few, err := c.collect(ctx, statement, short)
	if err != nil {
		return 0, err
	}
	many, err := c.collect(ctx, statement, long)
	return float64(many-few) / (long - short) / 1000, err
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

func (c *counter) collect(ctx context.Context, statement string, rounds int) (int64, error) {
	dir := filepath.Join(c.server.Cluster.Dir, "copy")
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", filepath.Join(c.server.Cluster.Dir, "data"), dir).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("copying the data: %w\n%s", err, out)
	}
	cmd := c.server.Cluster.Single(ctx, dir, "postgres", c.valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null")
	cmd.Stdin = strings.NewReader(fmt.Sprintf("do $$ begin for n in 1..%d loop %s commit; end loop; end $$;\n\n", rounds, statement))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	text := said.String()
	number := collected.FindStringSubmatch(text)
	if number == nil || strings.Contains(text, "ERROR:") {
		return 0, fmt.Errorf("the server said\n%s", text)
	}
	return strconv.ParseInt(number[1], 10, 64)
}
