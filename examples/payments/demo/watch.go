package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// setupLock is the lock under which payments makes its tables (setup.go). Held, it is a starting line for two processes.
const setupLock = `select pg_advisory_lock(hashtextextended('queen.kv example payments', 0))`

const (
	watchLimit = 20 * time.Second
	watchPoll  = 5 * time.Millisecond
)

// holdSetup draws the starting line; release may be called more than once.
func (s *stage) holdSetup(ctx context.Context) (release func(), err error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return nil, err
	}
	release = sync.OnceFunc(func() { conn.Close(context.WithoutCancel(ctx)) }) // the lock goes with its session
	if _, err := conn.Exec(ctx, setupLock); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// bothAtSetup waits until two processes stand at the starting line.
func (s *stage) bothAtSetup(ctx context.Context) error {
	return s.until(ctx, "two processes wait for the setup lock", `select count(*) = 2 from pg_stat_activity
		where datname = current_database() and application_name = 'payments' and wait_event_type = 'Lock' and wait_event = 'advisory'`)
}

// sessionsGone waits until the server has noticed the death of a process, and ended its sessions.
func (s *stage) sessionsGone(ctx context.Context) error {
	return s.until(ctx, "the killed process's sessions end", `select count(*) = 0 from pg_stat_activity
		where datname = current_database() and application_name = 'payments'`)
}

// until waits for a condition that the database can see.
func (s *stage) until(ctx context.Context, what, sql string) error {
	limited, cancel := context.WithTimeout(ctx, watchLimit)
	defer cancel()
	conn, err := pgx.Connect(limited, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	poll := time.NewTicker(watchPoll)
	defer poll.Stop()
	for {
		var holds bool
		err := conn.QueryRow(limited, sql).Scan(&holds)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return fmt.Errorf("waited %v in vain until %s", watchLimit, what)
		case err != nil || holds:
			return err
		}
		<-poll.C
	}
}
