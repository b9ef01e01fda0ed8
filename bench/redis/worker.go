package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/queenkv/queenkv/bench/internal/server"
)

// The program is a worker when these say so: only a process can be killed.
const (
	workerOrder   = "KV_BENCH_WORKER_ORDER"
	workerURL     = "KV_BENCH_WORKER_URL"
	workerSocket  = "KV_BENCH_WORKER_SOCKET"
	workerClients = "KV_BENCH_WORKER_CLIENTS"
)

// Where a message has the worker kill itself. Random kills use none of them.
type fate string

const (
	lives        fate = "lives"
	diesBetween  fate = "between"  // one of the two writes was made, the other was not
	diesUnspoken fate = "unspoken" // all is done, and not acknowledged
)

// beWorker handles the messages of its standard input, some at once, each a line of a fate and a key, and writes the key of each that was
// handled. It ends with its input.
func beWorker() int {
	if err := work(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

func work(ctx context.Context, in io.Reader, out io.Writer) error {
	at := slices.IndexFunc(orders, func(o order) bool { return o.name == os.Getenv(workerOrder) })
	clients, err := strconv.Atoi(os.Getenv(workerClients))
	if at < 0 || err != nil {
		return errors.New("no such order, or no number of clients")
	}
	pool, err := server.Pool(ctx, os.Getenv(workerURL), clients)
	if err != nil {
		return err
	}
	defer pool.Close()
	s := stores{pool, newClient(os.Getenv(workerSocket), clients)}
	defer func() { _ = s.redis.Close() }() // its connections end with the process

	lines := make(chan string)
	errs := make([]error, clients)
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for line := range lines {
				if errs[client] == nil {
					errs[client] = handleLine(ctx, s, orders[at], line, out)
				}
			}
		})
	}
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		lines <- scanner.Text()
	}
	close(lines)
	group.Wait()
	return errors.Join(append(errs, scanner.Err())...)
}

func handleLine(ctx context.Context, s stores, o order, line string, out io.Writer) error {
	point, key, ok := strings.Cut(line, " ")
	if !ok {
		return fmt.Errorf("%q is no message", line)
	}
	dieAt := func(here fate) {
		if fate(point) == here {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it may take a moment
		}
	}
	if err := o.handle(ctx, s, key, func() { dieAt(diesBetween) }); err != nil {
		return err
	}
	dieAt(diesUnspoken)
	_, err := fmt.Fprintln(out, key) // one write, so that no two lines mix
	return err
}

// A worker is such a process, seen from outside.
type worker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	acks chan string // keys that were handled; closed when the process has ended
}

func (r *rig) startWorker(ctx context.Context, o order, clients int) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: exec.CommandContext(ctx, self), acks: make(chan string, clients)}
	w.cmd.Env = append(os.Environ(), workerOrder+"="+o.name, workerURL+"="+r.url, workerSocket+"="+socketIn(r.redis.dir),
		workerClients+"="+strconv.Itoa(clients))
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			w.acks <- scanner.Text()
		}
		close(w.acks)
	}()
	return w, nil
}

func (w *worker) send(key string, f fate) error {
	_, err := fmt.Fprintln(w.in, f, key)
	return err
}

// end waits for the process, after the last ack was read, and tells whether it was killed by SIGKILL.
func (w *worker) end() (killed bool, err error) {
	_ = w.in.Close() // a dead process has closed its end
	for range w.acks {
		continue // none, where the caller has read them
	}
	err = w.cmd.Wait()
	if status, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return true, nil
	}
	return false, err
}
