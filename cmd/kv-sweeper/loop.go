package main

import (
	"time"

	"github.com/queenkv/queenkv/sweeper"
)

// pace are the flags that run and once share: those of sweeper.Options.
type pace struct {
	StepTarget   time.Duration `default:"100ms" help:"How long a step should take; a writer may wait that long for a row that is being deleted."`
	StepTimeout  time.Duration `default:"5s" help:"statement_timeout of a step."`
	FirstBatch   int           `default:"1000" help:"Rows of the first step."`
	MinBatch     int           `default:"100" help:"Rows of a step, at least."`
	MaxBatch     int           `default:"10000" help:"Rows of a step, at most; up to 1000000."`
	UsageTenants int           `default:"100" help:"Tenants of one step of measuring."`
}

func (p *pace) options() *sweeper.Options {
	return &sweeper.Options{
		StepTarget: p.StepTarget, StepTimeout: p.StepTimeout,
		FirstBatch: p.FirstBatch, MinBatch: p.MinBatch, MaxBatch: p.MaxBatch, UsageTenants: p.UsageTenants,
	}
}

// Validate is called by kong.
func (p *pace) Validate() error {
	switch {
	case p.StepTarget <= 0 || p.StepTimeout < time.Millisecond:
		return usage("--step-target and --step-timeout must be above 0")
	case p.MinBatch < 1 || p.MaxBatch < p.MinBatch || p.MaxBatch > 1_000_000:
		return usage("--min-batch and --max-batch must be from 1 to 1000000, the first not above the second")
	case p.FirstBatch < p.MinBatch || p.FirstBatch > p.MaxBatch:
		return usage("--first-batch must be from --min-batch to --max-batch")
	case p.UsageTenants < 1:
		return usage("--usage-tenants must be at least 1")
	}
	return nil
}

func usage(text string) error { return &statusError{status: exitError, text: text} }
