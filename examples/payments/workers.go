package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
)

// window is how many lines are in flight at most: a line is handed out when the one that is 64 lines before it is done, in
// the database too. Within it the order is open; two lines that are further apart are handled in the file's order, so that
// of two deliveries with one id and different bodies the earlier one wins, in every run.
const window = 64

// A tally counts what this process did.
type tally struct {
	Effects   int `json:"effects"`   // transactions that had an effect and were committed
	Replays   int `json:"replays"`   // deliveries that had had their effect before
	InFlight  int `json:"inFlight"`  // replays that began before the effect they replay, so both were in flight
	Refusals  int `json:"refusals"`  // deliveries whose id belongs to another one
	Malformed int `json:"malformed"` // lines that are no delivery
	Retries   int `json:"retries"`   // transactions that were lost to a conflict and run again
}

func (t *tally) add(out outcome) {
	t.Retries += out.retries
	switch out.kind {
	case effect:
		t.Effects++
	case replay:
		t.Replays++
		if out.early {
			t.InFlight++
		}
	case refusal:
		t.Refusals++
	}
}

// A job is a record on its way; done is closed when it is decided.
type job struct {
	record
	done chan struct{}
}

// process handles every line of src by that many workers, logs refused and malformed lines, and counts. The first error ends
// it: what was committed stays, and running the same input again goes on from there.
func process(ctx context.Context, b *book, src *lineReader, workers int, log *log.Logger) (tally, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		jobs = make(chan *job)
		wait sync.WaitGroup
		mu   sync.Mutex // over sum
		sum  tally
	)
	for range workers {
		wait.Go(func() {
			for j := range jobs {
				out, err := b.handle(ctx, j.line, j.delivery)
				if err != nil {
					stop(fmt.Errorf("line %d: %w", j.line, err))
					return
				}
				if out.kind == refusal {
					log.Printf("line %d: refused: another delivery has the id %q", j.line, j.delivery.id)
				}
				mu.Lock()
				sum.add(out)
				mu.Unlock()
				close(j.done)
			}
		})
	}
	malformed, err := feed(ctx, src, jobs, log)
	close(jobs)
	wait.Wait()
	sum.Malformed = malformed
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return sum, err
}

// feed hands out the deliveries in the file's order, and keeps the window.
func feed(ctx context.Context, src *lineReader, jobs chan<- *job, log *log.Logger) (malformed int, err error) {
	decided := make(chan struct{})
	close(decided)
	var inFlight [window]chan struct{} // the done of line n, at n modulo window
	for i := range inFlight {
		inFlight[i] = decided
	}
	for {
		rec, err := src.next()
		if errors.Is(err, io.EOF) {
			return malformed, nil
		}
		if err != nil {
			return malformed, err
		}
		j := &job{record: rec, done: decided}
		before := inFlight[rec.line%window]
		select {
		case <-before:
		case <-ctx.Done():
			return malformed, nil
		}
		if rec.malformed != nil {
			malformed++
			log.Printf("line %d: malformed: %v", rec.line, rec.malformed)
		} else {
			j.done = make(chan struct{})
			select {
			case jobs <- j:
			case <-ctx.Done():
				return malformed, nil
			}
		}
		inFlight[rec.line%window] = j.done
	}
}
