package sweeper

import (
	"context"
	"log/slog"
)

// A pass goes once through what has expired, oldest first. Only one that began at the beginning can say that all is done;
// so each does.
type pass struct {
	sweeper *Sweeper
	batch   batch
	fault   backoff

	from    string // where the next step begins; empty: at the beginning
	deleted int64  // in this pass so far
	drained bool   // the last step ended a pass after which nothing is left but what others hold
}

func (s *Sweeper) newPass() *pass {
	return &pass{
		sweeper: s, fault: s.retry(),
		batch: batch{size: s.opts.FirstBatch, least: s.opts.MinBatch, most: s.opts.MaxBatch, target: s.opts.StepTarget},
	}
}

// step deletes the next batch, of at most atMost rows when that is not 0.
func (p *pass) step(ctx context.Context, atMost int64) (Step, error) {
	size := p.batch.size
	if atMost > 0 && atMost < int64(size) {
		size = int(atMost)
	}
	step, err := p.sweeper.expire(ctx, size, p.from)
	if err != nil {
		if ClassOf(err) == Timeout {
			p.batch.halve()
		}
		p.sweeper.failed(ctx, err)
		return step, err
	}
	if size == p.batch.size {
		p.batch.took(step.Took, 2*step.Deleted >= int64(size))
	}
	p.from = step.nextFrom
	p.deleted += step.Deleted

	log := p.sweeper.opts.Logger
	log.DebugContext(ctx, "step", slog.Int64("deleted", step.Deleted), slog.Int("allowed", size), slog.Duration("took", step.Took),
		slog.Int64("unpruned", step.Unpruned), slog.Duration("lag", step.Lag))
	// A pass of several steps is followed by another, for what expired or was let go behind it; but where it could delete
	// nothing at all, others hold everything that is left.
	p.drained = p.from == "" && (step.Done || p.deleted == 0)
	if p.from == "" {
		if p.deleted > 0 {
			log.InfoContext(ctx, "swept", slog.Int64("deleted", p.deleted), slog.Bool("drained", p.drained))
		}
		p.deleted = 0
	}
	if f := p.sweeper.opts.Hooks.Step; f != nil {
		f(step)
	}
	return step, nil
}
