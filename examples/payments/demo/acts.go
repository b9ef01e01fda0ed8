package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

// killAfter is a quarter of the sample's effects.
const killAfter = 600

// A stage is where the runs happen, and what came out of them.
type stage struct {
	binary, file, url string

	results      []result
	expectations int
	failures     []string
}

// expect notes an expectation, and a failure when it does not hold.
func (s *stage) expect(r result, holds bool, what string, args ...any) {
	s.expectations++
	if !holds {
		s.failures = append(s.failures, r.name+": "+fmt.Sprintf(what, args...))
	}
}

// expectComplete is what every run that came to its end with Once must show.
func (s *stage) expectComplete(r result) {
	s.expect(r, r.ended == "0", "it ended with %s, not 0", r.ended)
	s.expect(r, len(r.failedGroups()) == 0, "checks failed: %v", r.failedGroups())
	s.expect(r, r.Books.Effects == r.File.Distinct, "%d effects, not %d", r.Books.Effects, r.File.Distinct)
	s.expect(r, r.Books.Doubles == 0, "%d doubles", r.Books.Doubles)
	s.expect(r, r.Books.Cents == r.File.Cents, "balances of %d, not %d", r.Books.Cents, r.File.Cents)
	s.expect(r, r.Run.Refusals == r.File.Rivals, "%d refusals, not %d", r.Run.Refusals, r.File.Rivals)
}

func (s *stage) plainly(ctx context.Context) error {
	r, err := s.run(ctx, "plainly", "plain")
	if err != nil {
		return err
	}
	s.expectComplete(r)
	s.expect(r, r.Run.Effects == r.File.Distinct, "%d effects of this run", r.Run.Effects)
	s.expect(r, r.Run.Replays == r.File.Duplicates, "%d replays, not %d", r.Run.Replays, r.File.Duplicates)
	s.expect(r, r.Run.InFlight > 0, "no replay was in flight together with its effect")
	return nil
}

func (s *stage) killedAndResumed(ctx context.Context) error {
	const schema = "killed"
	ended, err := s.start(ctx, schema, "-kill-after", strconv.Itoa(killAfter)).wait()
	if err != nil {
		return err
	}
	if err := s.sessionsGone(ctx); err != nil {
		return err
	}
	books, err := s.run(ctx, fmt.Sprintf("killed after %d effects", killAfter), schema, "-check-only")
	if err != nil {
		return err
	}
	row := &s.results[len(s.results)-1]
	row.ended, row.lastWords = ended.ended, ended.lastWords
	s.expect(books, ended.ended == "SIGKILL", "it ended with %s, not by SIGKILL", ended.ended)
	s.expect(books, books.Books.Effects >= killAfter && books.Books.Effects < books.File.Distinct, "%d effects", books.Books.Effects)
	s.expect(books, slices.Equal(books.failedGroups(), []string{"file"}), "failed: %v, not the completeness alone", books.failedGroups())

	r, err := s.run(ctx, "the same, run again", schema)
	if err != nil {
		return err
	}
	s.expectComplete(r)
	s.expect(r, r.Run.Effects == r.File.Distinct-books.Books.Effects, "%d effects, with %d there before", r.Run.Effects, books.Books.Effects)
	return nil
}

func (s *stage) twoProcesses(ctx context.Context) error {
	const schema = "two"
	release, err := s.holdSetup(ctx)
	if err != nil {
		return err
	}
	defer release()
	a, b := s.start(ctx, schema), s.start(ctx, schema)
	waiting := s.bothAtSetup(ctx)
	release()
	first, errA := a.wait()
	second, errB := b.wait()
	for _, err := range []error{waiting, errA, errB} {
		if err != nil {
			return err
		}
	}
	first.name, second.name = "two at once: one", "two at once: the other"
	for _, r := range []result{first, second} {
		s.results = append(s.results, r)
		s.expectComplete(r)
		s.expect(r, r.Run.Effects > 0, "it had no effect, so the two were not at work at once")
	}
	both := first.Run.Effects + second.Run.Effects
	s.expect(second, both == second.File.Distinct, "the two had %d effects, not %d", both, second.File.Distinct)
	return nil
}

func (s *stage) withoutOnce(ctx context.Context) error {
	r, err := s.run(ctx, "without Once", "without_once", "-without-once")
	if err != nil {
		return err
	}
	s.expect(r, r.ended == "1", "it ended with %s, not 1", r.ended)
	s.expect(r, r.Books.Doubles > 0, "no double, so the deliveries don't need Once")
	s.expect(r, r.Books.Effects == r.File.Distinct+r.Books.Doubles, "%d effects and %d doubles", r.Books.Effects, r.Books.Doubles)
	s.expect(r, r.Books.Cents != r.File.Cents, "balances are right in spite of doubles")
	return nil
}
