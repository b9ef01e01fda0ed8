package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

type doctorCommand struct {
	database
	MaxLag         time.Duration `default:"5m" help:"How long an expired row may wait to be deleted."`
	MaxSnapshotAge time.Duration `default:"15m" help:"How long a transaction, or a replica, may hold back the removal of dead rows."`
	MaxDeadRatio   float64       `default:"0.25" help:"Dead rows as a part of all; counted from 10000 dead rows on."`
	MinHOTRatio    float64       `name:"min-hot-ratio" default:"0.1" help:"HOT updates as a part of all; counted from 10000 updates on."`
	MaxUsageAge    time.Duration `default:"1h" help:"How old the measurement of a tenant with a quota may be."`
	Timeout        time.Duration `default:"10s" help:"statement_timeout of a check."`
	JSON           bool          `name:"json" help:"Print a line of JSON for each check."`
}

// Validate is called by kong.
func (c *doctorCommand) Validate() error {
	if c.MaxLag < 0 || c.MaxSnapshotAge < 0 || c.MaxUsageAge < 0 || c.Timeout < time.Millisecond {
		return usage("the ages must not be negative, and --timeout must be at least 1ms")
	}
	return nil
}

// The levels of a check's answer.
const (
	levelOK      = "ok"
	levelNote    = "note"    // worth knowing; not counted
	levelUnknown = "unknown" // the role may not see it
	levelProblem = "problem"
)

// answer is what a check found.
type answer struct {
	Check  string `json:"check"`
	Level  string `json:"level"`
	What   string `json:"what"`          // what was found, with its number
	Number any    `json:"number"`        // the number alone: of what is wrong, or what the threshold is compared with
	Why    string `json:"why,omitempty"` // why it matters
	Do     string `json:"do,omitempty"`  // what to do
}

// A check looks at one thing. What it can't say because the database refuses is an error.
type check struct {
	name string
	look func(context.Context, pgx.Tx, *doctorCommand) (answer, error)
}

var checks = []check{
	{"schema_version", schemaVersionCheck},
	{"rights", rightsCheck},
	{"hidden_rows", hiddenRows},
	{"index", indexCheck},
	{"collation_version", collationVersion},
	{"unpruned_rows", unprunedRows},
	{"oldest_snapshot", oldestSnapshot},
	{"dead_rows", deadRows},
	{"hot_updates", hotUpdates},
	{"usage", usageAge},
}

// Run is called by kong.
func (c *doctorCommand) Run(ctx context.Context, s streams) error {
	conn, err := c.conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	problems := 0
	for _, k := range checks {
		a, err := c.ask(ctx, conn, k)
		if err != nil {
			return withRemedy(k.name, err)
		}
		a.Check = k.name
		if a.Level == levelProblem {
			problems++
		}
		if err := c.print(s, a); err != nil {
			return err
		}
	}
	if problems == 0 {
		return nil
	}
	return &statusError{exitFindings, fmt.Sprintf("%d of %d checks found a problem", problems, len(checks))}
}

// ask runs a check in a transaction that is rolled back.
func (c *doctorCommand) ask(ctx context.Context, conn *pgx.Conn, k check) (answer, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly})
	if err != nil {
		return answer{}, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, "select set_config('statement_timeout', $1::text, true)", fmt.Sprint(c.Timeout.Milliseconds())); err != nil {
		return answer{}, err
	}
	return k.look(ctx, tx, c)
}

func (c *doctorCommand) print(s streams, a answer) error {
	if c.JSON {
		return json.NewEncoder(s.out).Encode(a)
	}
	fmt.Fprintf(s.out, "%-8s %-18s %s\n", a.Level, a.Check, a.What)
	if a.Why != "" {
		fmt.Fprintf(s.out, "%27s why: %s\n", "", a.Why)
	}
	if a.Do != "" {
		fmt.Fprintf(s.out, "%27s do:  %s\n", "", a.Do)
	}
	return nil
}
