package sweepergo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// programDir is where the program is built, once for all tests.
var programDir string

func TestMain(m *testing.M) {
	var err error
	if programDir, err = os.MkdirTemp("", "kv-sweeper-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(programDir)
	os.Exit(status)
}

// build makes the program as "make kv-sweeper" does: static.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDir, "kv-sweeper")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -X main.release=v0.0.0-test", "-o", path, ".")
	cmd.Dir = filepath.Join("..", "..", "cmd", "kv-sweeper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func program(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// command is the program with nothing in its environment but what is given.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), args...)
	cmd.Env = append([]string{"HOME=" + t.TempDir()}, env...)
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

type ended struct {
	status   int
	out, err string
}

// play runs the program to its end.
func play(t *testing.T, env []string, args ...string) ended {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// lines are lines of output.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// eventually waits until what is awaited holds, and fails the test when that lasts half a minute.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not in half a minute: %s", what)
		case <-poll.C:
		}
	}
}

// A running program is kv-sweeper run.
type running struct {
	cmd     *exec.Cmd
	log     *lines
	address string
	done    chan struct{}
}

// start runs "kv-sweeper run" with a listener of its own, and returns when it listens.
func start(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	args = append([]string{"run"}, args...)
	if !slices.Contains(args, "--listen") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	r := &running{cmd: command(t, env, args...), log: &lines{}, done: make(chan struct{})}
	r.cmd.Stderr = r.log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.done) }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
		if t.Failed() {
			t.Log(r.log)
		}
	})
	eventually(t, "it listens: "+strings.Join(args, " "), func() bool {
		_, after, found := strings.Cut(r.log.String(), "msg=listening address=")
		r.address, _, _ = strings.Cut(after, "\n")
		return found && strings.Contains(after, "\n") || r.ended()
	})
	return r
}

func (r *running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// status waits for the end.
func (r *running) status(t *testing.T) int {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(30 * time.Second):
		t.Fatal("it doesn't end")
	}
	return r.cmd.ProcessState.ExitCode()
}
