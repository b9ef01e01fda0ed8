package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/queenkv/queenkv/sweeper"
)

type runCommand struct {
	database
	pace
	Listen     string        `default:"127.0.0.1:9464" placeholder:"ADDRESS" help:"Where /metrics, /healthz and /readyz answer; \"none\" for nowhere. They need no password, and show tenants' ids."`
	StartWait  time.Duration `default:"30s" help:"How long a server that doesn't answer is waited for at the start."`
	DutyCycle  float64       `default:"0.1" help:"The greatest share of its time that it spends deleting, from 0.01 to 1; 1 never rests."`
	MinIdle    time.Duration `default:"1s" help:"The first pause when nothing is left to delete."`
	MaxIdle    time.Duration `default:"30s" help:"The longest one."`
	MinRetry   time.Duration `default:"250ms" help:"The first pause after an error."`
	MaxRetry   time.Duration `default:"30s" help:"The longest one."`
	UsageEvery time.Duration `default:"5m" help:"How often tenants are measured; 0 for never."`
	StopGrace  time.Duration `default:"2s" help:"How long a step under way may go on after SIGTERM."`
	TenantsMax int           `default:"100" help:"How many tenants the metrics name, the largest first; 0 for none."`
	Stale      time.Duration `default:"2m" help:"/readyz fails when the last successful step is older."`
	LogLevel   slog.Level    `default:"info" help:"debug, info, warn or error."`
	LogFormat  string        `default:"text" enum:"text,json" help:"text or json."`
}

// Validate is called by kong.
func (c *runCommand) Validate() error {
	if !(c.DutyCycle >= 0.01 && c.DutyCycle <= 1) { // NaN too
		return usage("--duty-cycle must be from 0.01 to 1")
	}
	if c.MinIdle <= 0 || c.MaxIdle < c.MinIdle || c.MinRetry <= 0 || c.MaxRetry < c.MinRetry {
		return usage("--min-idle and --min-retry must be above 0, and not above --max-idle and --max-retry")
	}
	if c.UsageEvery < 0 || c.TenantsMax < 0 || c.StartWait < 0 || c.StopGrace < 0 {
		return usage("--usage-every, --tenants-max, --start-wait and --stop-grace must not be negative")
	}
	if c.Stale <= c.MaxIdle {
		return usage("--stale must be above --max-idle, or an idle sweeper would not be ready")
	}
	return c.pace.Validate()
}

func (c *runCommand) logger(s streams) *slog.Logger {
	opts := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(s.err, opts))
	}
	return slog.New(slog.NewTextHandler(s.err, opts))
}

// Run is called by kong.
func (c *runCommand) Run(ctx context.Context, s streams) error {
	pool, err := c.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	log := c.logger(s)
	m := newMetrics(c.TenantsMax)
	h := newHealth(c.Stale, c.StepTimeout+c.MaxIdle+c.MaxRetry)

	opts := c.options()
	opts.DutyCycle = c.DutyCycle
	opts.MinIdle, opts.MaxIdle, opts.MinRetry, opts.MaxRetry = c.MinIdle, c.MaxIdle, c.MinRetry, c.MaxRetry
	opts.UsageEvery, opts.StopGrace = orNever(c.UsageEvery), orNever(c.StopGrace)
	opts.Logger = log
	opts.Hooks = sweeper.Hooks{
		Step:  func(step sweeper.Step) { m.step(step); h.success() },
		Usage: m.usage,
		Error: func(e *sweeper.Error) { m.failed(e); h.failure(e) },
		Measured: func() {
			if err := m.readTenants(ctx, pool); err != nil {
				log.Warn("tenants can't be read for the metrics", slog.Any("error", err))
			}
		},
	}
	sw := sweeper.New(pool, opts)

	// The listener is there before the server is, for a liveness probe that comes early.
	stop, err := c.serve(ctx, s, m, h)
	if err != nil {
		return err
	}
	defer stop()
	if err := c.wait(ctx, sw, log); err != nil {
		return err
	}
	log.Info("sweeping", slog.String("version", version()), slog.String("database", pool.Config().ConnConfig.Database),
		slog.String("user", pool.Config().ConnConfig.User))
	defer log.Info("stopped")
	context.AfterFunc(ctx, func() { h.stopping(); log.Info("stopping: the step under way is finished") })
	return sw.Run(ctx)
}

// orNever is what sweeper.Options wants for a flag whose 0 is no default.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// wait returns when all is well, or with what a person must put right; a server that doesn't answer yet is waited for.
func (c *runCommand) wait(ctx context.Context, sw *sweeper.Sweeper, log *slog.Logger) error {
	until := time.Now().Add(c.StartWait)
	for ctx.Err() == nil {
		err := sw.Check(ctx)
		if err == nil {
			return nil
		}
		class, over := sweeper.ClassOf(err), time.Now().After(until)
		if stopped := ctx.Err() != nil; (class.Lasting() || over) && !stopped {
			return err
		}
		log.Warn("waiting for the server", slog.String("class", string(class)), slog.Any("error", err))
		select {
		case <-time.After(min(time.Second, max(time.Until(until), time.Millisecond))):
		case <-ctx.Done():
		}
	}
	return nil
}

// serve listens, and gives what ends it.
func (c *runCommand) serve(ctx context.Context, s streams, m *metrics, h *health) (stop func(), err error) {
	if c.Listen == "none" {
		return func() {}, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w: choose another --listen", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.handler())
	mux.HandleFunc("GET /healthz", h.healthz)
	mux.HandleFunc("GET /readyz", h.readyz)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	c.logger(s).Info("listening", slog.String("address", l.Addr().String()))
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.logger(s).Error("the listener ended", slog.Any("error", err))
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	}, nil
}
