package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// startLimit bounds the wait for a server that was started; crash recovery counts too.
	startLimit = time.Minute
	// stopLimit bounds a fast shutdown; after that the server is killed.
	stopLimit = 20 * time.Second
)

// Restart starts the server of a cluster whose server was stopped or killed, on the same data
// and port, and returns when it answers.
func (c *Cluster) Restart(ctx context.Context) error {
	log, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the server has a copy
	args := []string{"-D", c.data(), "-p", strconv.Itoa(c.port)}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		args = append(args, "-c", name+"="+c.settings[name])
	}
	// Not bound to ctx: that ends the start, and Stop ends the server.
	server := c.command(context.WithoutCancel(ctx), "postgres", args...)
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() { _ = server.Wait(); close(gone) }() // how it ended stands in its log
	c.server, c.gone = server, gone
	if err := c.waitUntilUp(ctx); err != nil {
		return fmt.Errorf("PostgreSQL %d does not start: %w\n%s", c.Binaries.Major, err, c.logTail())
	}
	return nil
}

func (c *Cluster) waitUntilUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.gone:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("%w; the last attempt to connect: %w", context.Cause(ctx), err)
		case <-poll.C:
		}
	}
}

// Kill ends the server without a shutdown, as a crash would: Restart then recovers.
func (c *Cluster) Kill() error { return c.end(syscall.SIGQUIT) }

// Shutdown ends the server in order and keeps the data for Restart.
func (c *Cluster) Shutdown() error { return c.end(syscall.SIGINT) }

func (c *Cluster) end(sig os.Signal) error {
	if c.server == nil {
		return nil
	}
	err := c.server.Process.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-c.gone:
	case <-time.After(stopLimit):
		if err := c.server.Process.Kill(); err != nil {
			return err
		}
		<-c.gone
	}
	c.server = nil
	return nil
}

// logTail returns the last 4 KiB of the server's log.
func (c *Cluster) logTail() string {
	f, err := os.Open(c.logPath())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-4096), io.SeekStart)
	}
	tail, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return string(tail)
}

// Single is the server in single-user mode, on a folder that holds a copy of the data of a cluster that was shut down. It reads SQL
// from its standard input, where a semicolon and an empty line end a statement. Another program, such as a profiler, with its
// arguments may be wrapped around it.
func (c *Cluster) Single(ctx context.Context, data, database string, wrap ...string) *exec.Cmd {
	args := append(slices.Clone(wrap), filepath.Join(c.Binaries.Dir, "postgres"), "--single", "-j", "-F", "-D", data, database)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = c.Dir
	c.account.run(cmd)
	return cmd
}
