package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// dutyCycle is the environment's variable for the sweeper's share of the time, the one of its settings that may differ from the defaults.
const dutyCycle = "KV_SWEEPER_DUTY_CYCLE"

// A process is "kv-sweeper run" with its defaults, but for the port of its listener and dutyCycle.
type process struct {
	cmd     *exec.Cmd
	drained chan struct{} // closed when it says that it has deleted as many rows as it was to, or ends
	done    chan struct{} // closed when it has ended
	err     error         // of its end
	said    []string      // its log
}

// startSweeper starts a sweeper for which so many rows have expired.
func startSweeper(ctx context.Context, path, url string, rows int) (*process, error) {
	p := &process{drained: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, path, "run", "--listen", "127.0.0.1:0")
	p.cmd.Env = []string{"DATABASE_URL=" + url}
	if v := os.Getenv(dutyCycle); v != "" {
		p.cmd.Env = append(p.cmd.Env, dutyCycle+"="+v)
	}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.follow(log, rows)
	return p, nil
}

// follow reads the log to its end: a line for each pass that deleted rows.
func (p *process) follow(log io.Reader, rows int) {
	defer close(p.done)
	drained := false
	for lines := bufio.NewScanner(log); lines.Scan(); {
		p.said = append(p.said, lines.Text())
		if _, after, ok := strings.Cut(lines.Text(), "msg=swept deleted="); ok {
			var n int
			_, _ = fmt.Sscan(after, &n) // 0 where it is no number: then the run doesn't end well
			rows -= n
		}
		if !drained && rows <= 0 {
			drained = true
			close(p.drained)
		}
	}
	p.err = p.cmd.Wait()
	if !drained {
		close(p.drained)
	}
}

// resident is the most memory that the process has had resident, in MiB; false where the machine doesn't tell.
func (p *process) resident() (float64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, false
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	_, err = fmt.Sscan(after, &kib)
	return kib / 1024, err == nil
}

// stop ends the process as a service manager does, and tells whether all went well.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	if p.err != nil {
		return fmt.Errorf("kv-sweeper: %w\n%s", p.err, strings.Join(p.said, "\n"))
	}
	return nil
}
