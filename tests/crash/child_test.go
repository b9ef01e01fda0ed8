package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/jackc/pgx/v5"
)

// The test binary is a client when these say so: only a process can be killed.
const (
	childURL   = "KV_CRASH_CHILD_URL"
	childLevel = "KV_CRASH_CHILD_LEVEL"
)

// beChild reads keys from standard input, makes an attempt for each, and writes a line: "ROW REPLAYED" or "? ERROR" when the
// outcome is unknown, or "! ERROR". It ends with its input.
func beChild() int {
	c, err := newClient(os.Getenv(childURL), pgx.TxIsoLevel(os.Getenv(childLevel)), once)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer c.close()
	keys := bufio.NewScanner(os.Stdin)
	for keys.Scan() {
		a, err := c.deliver(context.Background(), keys.Text())
		switch {
		case errors.Is(err, errUnknown):
			fmt.Printf("? %q\n", err)
		case err != nil:
			fmt.Printf("! %q\n", err)
		default:
			fmt.Printf("%d %t\n", a.row, a.replayed)
		}
	}
	return 0
}

// A child is a client in a process of its own, and a new process when that has died.
type child struct {
	url   string
	level pgx.TxIsoLevel

	mu      sync.Mutex
	process *os.Process // nil while there is none

	command *exec.Cmd
	keys    io.WriteCloser
	lines   *bufio.Scanner
}

func (c *child) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.command = exec.Command(self)
	c.command.Env = append(os.Environ(), childURL+"="+c.url, childLevel+"="+string(c.level))
	c.command.Stderr = os.Stderr
	if c.keys, err = c.command.StdinPipe(); err != nil {
		return err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return err
	}
	c.lines = bufio.NewScanner(out)
	if err := c.command.Start(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = c.command.Process
	return nil
}

// deliver makes one attempt. When the process dies at it, the outcome is unknown.
func (c *child) deliver(_ context.Context, key string) (answer, error) {
	if c.command == nil {
		if err := c.start(); err != nil {
			return answer{}, err
		}
	}
	_, err := fmt.Fprintln(c.keys, key)
	if err != nil || !c.lines.Scan() {
		return answer{}, fmt.Errorf("%w: the client has died: %w", errUnknown, errors.Join(err, c.lines.Err(), c.end()))
	}
	line := c.lines.Text()
	switch line[0] {
	case '?':
		return answer{}, fmt.Errorf("%w: %s", errUnknown, line[2:])
	case '!':
		return answer{}, errors.New(line[2:])
	}
	var a answer
	_, err = fmt.Sscan(line, &a.row, &a.replayed)
	return a, err
}

// kill ends the process by a signal that it can't catch.
func (c *child) kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return errors.New("there is no process to kill")
	}
	return c.process.Kill()
}

func (c *child) end() error {
	c.mu.Lock()
	c.process = nil
	c.mu.Unlock()
	command := c.command
	c.command = nil
	return errors.Join(c.keys.Close(), command.Wait())
}

func (c *child) close() {
	if c.command != nil {
		_ = c.end()
	}
}
