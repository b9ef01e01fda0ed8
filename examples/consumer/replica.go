package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A replica is this program again, in a process of its own, as consume.
type replica struct {
	cmd    *exec.Cmd
	output output
	exited chan struct{} // closed when it has ended, and err is set
	err    error
}

// output keeps what a process prints, and tells when it has begun to: a consumer says when it is at work.
type output struct {
	text  bytes.Buffer
	begun func()
}

func (o *output) Write(p []byte) (int, error) {
	o.begun()
	return o.text.Write(p)
}

// String gives what the process printed, on one line. It may be called when it has ended.
func (o *output) String() string { return strings.Join(strings.Fields(o.text.String()), " ") }

// startReplica starts a replica and waits until it is at work.
func startReplica(ctx context.Context, cfg config) (*replica, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"consume", "-schema", cfg.schema, "-batch", strconv.Itoa(cfg.batch)}
	if cfg.cursorApart {
		args = append(args, "-cursor-apart")
	}
	begun := make(chan struct{})
	r := &replica{cmd: exec.CommandContext(ctx, self, args...), exited: make(chan struct{})}
	r.output.begun = sync.OnceFunc(func() { close(begun) })
	r.cmd.Env = append(os.Environ(), "KV_TEST_DATABASE_URL="+cfg.url()) // not an argument: those are for all to see
	r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.exited)
	}()
	select {
	case <-begun:
	case <-r.exited:
	}
	return r, nil
}

// end sends a signal and waits for the end.
func (r *replica) end(signal syscall.Signal) {
	_ = r.cmd.Process.Signal(signal) // an error means that it has ended already
	<-r.exited
}

// endedByItself gives an error when the replica is not running any more.
func (r *replica) endedByItself() error {
	select {
	case <-r.exited:
		return fmt.Errorf("a replica ended by itself: %w: %s", r.err, r.output.String())
	default:
		return nil
	}
}

// applicationName is the name of a process's sessions.
func applicationName(pid int) string { return "consumer " + strconv.Itoa(pid) }

// A moment is where a process that stands still is.
type moment int

const (
	outside moment = iota // in no transaction that has written, or waiting for another replica
	inside                // in a transaction that has written and is not committed
)

// freeze stops the replica (it can be continued) and tells where it is.
func (r *replica) freeze(ctx context.Context, pool *pgxpool.Pool) (moment, error) {
	if err := r.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return outside, err
	}
	for {
		// The process stands, but the server may still be at the last thing that it sent.
		var busy, open bool
		err := pool.QueryRow(ctx, `
			select coalesce(bool_or(state = 'active' and cardinality(pg_blocking_pids(pid)) = 0), false),
				coalesce(bool_or(state = 'idle in transaction' and backend_xid is not null), false)
			from pg_stat_activity where datname = current_database() and application_name = $1`,
			applicationName(r.cmd.Process.Pid)).Scan(&busy, &open)
		switch {
		case err != nil:
			return outside, err
		case busy:
			time.Sleep(time.Millisecond)
		case open:
			return inside, nil
		default:
			return outside, nil
		}
	}
}

// sessionsGone waits until the server has ended the sessions of a killed replica. One that waits for a lock notices its
// client's death when it has got the lock, and an heir meanwhile waits behind it: kills must not come faster than that.
func (r *replica) sessionsGone(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		var gone bool
		err := pool.QueryRow(ctx, `select count(*) = 0 from pg_stat_activity
			where datname = current_database() and application_name = $1`, applicationName(r.cmd.Process.Pid)).Scan(&gone)
		if err != nil || gone {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}
