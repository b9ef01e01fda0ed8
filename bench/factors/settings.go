package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// set changes settings ("name = value") of the running server, and returns when new connections have them.
func (b *bench) set(ctx context.Context, settings []string) error {
	for _, s := range settings {
		if err := b.server.Exec(ctx, `alter system set `+s); err != nil {
			return err
		}
	}
	return b.reload(ctx, settings)
}

// reset takes back what set has changed.
func (b *bench) reset(ctx context.Context, settings []string) error {
	before := make([]string, len(settings))
	for i, s := range settings {
		name, _, _ := strings.Cut(s, " = ")
		var value string
		if err := b.server.Conn.QueryRow(ctx, `select boot_val from pg_settings where name = $1`, name).Scan(&value); err != nil {
			return err
		}
		before[i] = name + " = " + value
		if err := b.server.Exec(ctx, `alter system reset `+name); err != nil {
			return err
		}
	}
	return b.reload(ctx, before)
}

// reload has the server read its settings, and waits until a new connection shows them.
func (b *bench) reload(ctx context.Context, settings []string) error {
	if len(settings) == 0 {
		return nil
	}
	if err := b.server.Exec(ctx, `select pg_reload_conf()`); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, fmt.Errorf("the server does not take %s", strings.Join(settings, ", ")))
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		there, err := b.shows(ctx, settings)
		if err != nil || there {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
	}
}

// shows tells whether a new connection has the settings.
func (b *bench) shows(ctx context.Context, settings []string) (there bool, err error) {
	conn, err := pgx.Connect(ctx, b.server.Cluster.URL())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	for _, s := range settings {
		name, want, _ := strings.Cut(s, " = ")
		var value string
		if err := conn.QueryRow(ctx, `select setting from pg_settings where name = $1`, name).Scan(&value); err != nil || value != want {
			return false, err
		}
	}
	return true, nil
}
