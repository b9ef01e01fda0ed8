package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// killPause is the longest time between two attempts on a replica's life.
	killPause = 20 * time.Millisecond
	// mostAttempts for one kill inside a transaction: beyond it the replicas can't be doing anything.
	mostAttempts = 500
	// drainLimit is how long the replicas may take for what is left, when the killing is over.
	drainLimit = time.Minute
)

// A trial is replicas that apply the log, appenders that go on appending to it, and somebody who kills the replicas.
type trial struct {
	cfg      config
	pool     *pgxpool.Pool
	replicas []*replica

	killedInside, killedOutside int
}

// trialCommand runs the trial, and checks what came out.
func trialCommand(ctx context.Context, cfg config, pool *pgxpool.Pool, stdout io.Writer, logger *log.Logger) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &trial{cfg: cfg, pool: pool, replicas: make([]*replica, cfg.replicas)}
	defer t.end(syscall.SIGKILL) // whoever is left, where this fails
	for i := range t.replicas {
		if t.replicas[i], err = startReplica(ctx, cfg); err != nil {
			return err
		}
	}
	a := startAppenders(ctx, pool, cfg.events)
	err = errors.Join(t.kill(ctx), a.finish())
	if err == nil {
		err = t.drain(ctx)
	}
	if err != nil {
		return err
	}
	t.end(syscall.SIGTERM)
	for _, r := range t.replicas {
		if r.err != nil {
			return fmt.Errorf("a replica did not end in order: %w: %s", r.err, r.output.String())
		}
		logger.Printf("process %d, the last in its place: %s", r.cmd.Process.Pid, r.output.String())
	}
	fmt.Fprintf(stdout, "appended %d events, and %d more that were rolled back\n", a.appended.Load(), a.rolledBack.Load())
	fmt.Fprintf(stdout, "killed  %d replicas between their effects and COMMIT, %d at other moments\n", t.killedInside, t.killedOutside)
	return checkCommand(ctx, cfg, pool, stdout, logger)
}

// kill kills replicas at random and starts others in their place.
func (t *trial) kill(ctx context.Context) error {
	for attempt := 0; t.killedInside < t.cfg.kills; attempt++ {
		if attempt == mostAttempts*t.cfg.kills {
			return fmt.Errorf("stopped a replica %d times and found it inside a transaction %d times", attempt, t.killedInside)
		}
		select {
		case <-time.After(rand.N(killPause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		victim := &t.replicas[rand.IntN(len(t.replicas))]
		if err := t.attempt(ctx, victim); err != nil {
			return err
		}
	}
	return nil
}

// attempt stops a replica where it is. It is killed when it is inside a transaction, and now and then when it is not.
func (t *trial) attempt(ctx context.Context, victim **replica) error {
	if err := (*victim).endedByItself(); err != nil {
		return err
	}
	where, err := (*victim).freeze(ctx, t.pool)
	switch {
	case err != nil:
		return err
	case where == inside:
		t.killedInside++
	case rand.IntN(8) == 0:
		t.killedOutside++
	default:
		return (*victim).cmd.Process.Signal(syscall.SIGCONT)
	}
	dead := *victim
	dead.end(syscall.SIGKILL)
	if *victim, err = startReplica(ctx, t.cfg); err != nil {
		return err
	}
	return dead.sessionsGone(ctx, t.pool)
}

// drain waits until the replicas have come to the log's end.
func (t *trial) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, drainLimit, errors.New("the log was not drained in time"))
	defer cancel()
	for {
		r, err := readReport(ctx, t.pool, t.cfg.schema)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if r.left() == 0 {
			return nil
		}
		for _, r := range t.replicas {
			if err := r.endedByItself(); err != nil {
				return err
			}
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *trial) end(signal syscall.Signal) {
	for _, r := range t.replicas {
		if r != nil {
			r.end(signal)
		}
	}
}
