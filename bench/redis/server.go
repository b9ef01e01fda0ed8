package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// find gives the path of redis-server.
func find() (string, error) { return exec.LookPath("redis-server") }

// findOrInstall has apt-get install Debian's redis-server where there is none. The package may start a service of its own on port
// 6379 of the loopback interface; it is not touched here.
func findOrInstall(ctx context.Context) (string, error) {
	path, err := find()
	if err == nil {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", errors.New("redis-server is not in the PATH, and there is no apt-get to install it")
	}
	if os.Geteuid() != 0 {
		return "", errors.New("redis-server is not in the PATH, and installing it takes root (apt-get install redis-server)")
	}
	fmt.Fprintln(os.Stderr, "bench-redis: installing Debian's redis-server")
	for _, args := range [][]string{{"update", "-q"}, {"install", "-q", "-y", "--no-install-recommends", "redis-server"}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s", out)
			return "", fmt.Errorf("redis-server is not in the PATH, and apt-get %s failed: %w", args[0], err)
		}
	}
	return find()
}

// A redisServer is a throwaway one, on a Unix socket in its own folder.
type redisServer struct {
	dir    string
	cmd    *exec.Cmd
	gone   chan struct{} // closed when the process has ended
	client *redis.Client
}

func socketIn(dir string) string { return filepath.Join(dir, "redis.sock") }

// startRedis returns when it answers. Its append-only file is on, synced every second.
func startRedis(ctx context.Context, path string, clients int) (*redisServer, error) {
	dir, err := os.MkdirTemp("", "kv-redis-")
	if err != nil {
		return nil, err
	}
	s := &redisServer{dir: dir, gone: make(chan struct{}), client: newClient(socketIn(dir), clients)}
	// Not bound to ctx: that ends the start, and stop ends the process.
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), path, "--port", "0", "--unixsocket", socketIn(dir), "--unixsocketperm", "700", "--dir", dir,
		"--logfile", filepath.Join(dir, "log"), "--save", "", "--appendonly", "yes", "--appendfsync", "everysec")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt typed at a terminal is for us
	if err := s.cmd.Start(); err != nil {
		close(s.gone)
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { _ = s.cmd.Wait(); close(s.gone) }() // how it ended stands in its log
	if err := s.wait(ctx); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) // there may be none
		return nil, errors.Join(fmt.Errorf("redis-server: %w\n%s", err, log), s.stop())
	}
	return s, nil
}

func (s *redisServer) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		err := s.client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-s.gone:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-poll.C:
		}
	}
}

// stop ends the process and removes its folder.
func (s *redisServer) stop() error {
	err := s.client.Close()
	if signalErr := s.cmd.Process.Signal(syscall.SIGTERM); !errors.Is(signalErr, os.ErrProcessDone) {
		err = errors.Join(err, signalErr)
	}
	select {
	case <-s.gone:
	case <-time.After(20 * time.Second):
		err = errors.Join(err, s.cmd.Process.Kill())
		<-s.gone
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// newClient connects when it is first used. It tries nothing twice: a SET NX that was done, and whose answer was lost, would find its
// own marker.
func newClient(socket string, clients int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Network: "unix", Addr: socket, PoolSize: clients, MaxRetries: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // of Redis' cloud service
	})
}
