package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/queenkv/queenkv/sweeper"
)

type onceCommand struct {
	database
	pace
	MaxTime time.Duration `default:"0" help:"Stop after so long; 0 is no bound."`
	MaxRows int64         `default:"0" help:"Stop after so many rows; 0 is no bound."`
	Usage   bool          `default:"true" negatable:"" help:"Measure tenants too."`
	DryRun  bool          `help:"Count what has expired, up to a million rows, and delete nothing."`
	JSON    bool          `name:"json" help:"Print the result as one line of JSON."`
	Verbose bool          `short:"v" help:"Log each step to standard error."`
}

// Validate is called by kong.
func (c *onceCommand) Validate() error {
	if c.MaxTime < 0 || c.MaxRows < 0 {
		return usage("--max-time and --max-rows must not be negative")
	}
	return c.pace.Validate()
}

// Run is called by kong.
func (c *onceCommand) Run(ctx context.Context, s streams) error {
	pool, err := c.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	opts := c.options()
	opts.MaxTime, opts.MaxRows = c.MaxTime, c.MaxRows
	if !c.Usage {
		opts.UsageEvery = -1
	}
	var shown *progress
	switch {
	case c.Verbose:
		opts.Logger = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	case !c.JSON:
		shown = newProgress(s.err)
		opts.Hooks.Step = shown.step
		opts.Hooks.Error = func(e *sweeper.Error) { shown.line("trying again: " + lineOf(e)) }
	}
	sw := sweeper.New(pool, opts)
	if err := sw.Check(ctx); err != nil {
		return err
	}
	if c.DryRun {
		return c.dryRun(ctx, sw, s)
	}
	result, err := sw.RunOnce(ctx)
	shown.end()
	if c.JSON {
		return c.printJSON(s, result, err)
	}
	if err != nil {
		return fmt.Errorf("after %d rows: %w", result.Deleted, err)
	}
	fmt.Fprintln(s.out, sentence(result))
	return statusOf(result)
}

// statusOf tells drained from rows that are left.
func statusOf(r sweeper.Result) error {
	if r.End == sweeper.Drained {
		return nil
	}
	return &statusError{status: exitRowsLeft}
}

func sentence(r sweeper.Result) string {
	text := map[sweeper.End]string{
		sweeper.Drained: "drained", sweeper.OutOfTime: "out of time", sweeper.OutOfRows: "out of rows", sweeper.Interrupted: "interrupted",
	}[r.End]
	text += fmt.Sprintf(": deleted %d rows in %s, %d steps", r.Deleted, r.Took.Round(time.Millisecond), r.Steps)
	if r.Left > 0 {
		text += fmt.Sprintf("; %s expired rows left, the oldest for %s", atLeast(r.Left, r.Capped), r.Lag.Round(time.Millisecond))
	}
	if r.End == sweeper.Drained && r.Left > 0 {
		text += ", all held by other transactions"
	}
	text += fmt.Sprintf("; measured %d tenants", r.Tenants)
	if !r.Measured {
		text += ", not all"
	}
	return text
}

func atLeast(n int64, capped bool) string {
	if capped {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

type onceJSON struct {
	End      sweeper.End `json:"end"`
	Steps    int         `json:"steps"`
	Deleted  int64       `json:"deleted"`
	TookMs   int64       `json:"tookMs"`
	Left     int64       `json:"left"`
	Capped   bool        `json:"leftCapped"`
	LagMs    int64       `json:"lagMs"`
	Tenants  int         `json:"tenants"`
	Measured bool        `json:"measured"`
	Error    string      `json:"error,omitempty"`
}

func (c *onceCommand) printJSON(s streams, r sweeper.Result, err error) error {
	line := onceJSON{r.End, r.Steps, r.Deleted, r.Took.Milliseconds(), r.Left, r.Capped, r.Lag.Milliseconds(), r.Tenants, r.Measured, ""}
	if err != nil {
		line.Error = lineOf(err)
	}
	if writeErr := json.NewEncoder(s.out).Encode(line); writeErr != nil {
		return writeErr
	}
	if err != nil {
		return err
	}
	return statusOf(r)
}

// dryCount is as far as a dry run counts.
const dryCount = 1_000_000

func (c *onceCommand) dryRun(ctx context.Context, sw *sweeper.Sweeper, s streams) error {
	b, err := sw.Backlog(ctx, dryCount)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]any{
			"dryRun": true, "left": b.Rows, "leftCapped": b.Capped, "lagMs": b.Lag.Milliseconds()})
	}
	text := fmt.Sprintf("would delete %s rows", atLeast(b.Rows, b.Capped))
	if b.Rows > 0 {
		text += fmt.Sprintf("; the oldest expired %s ago", b.Lag.Round(time.Millisecond))
	}
	fmt.Fprintln(s.out, text)
	return nil
}
