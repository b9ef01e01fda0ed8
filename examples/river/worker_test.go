package main

import (
	"testing"

	"github.com/queenkv/queenkv/examples/internal/scratchtest"
)

// A worker that dies with the effect done and nothing committed leaves neither effect nor marker, and another worker does it.
func TestKilledBeforeCommit(t *testing.T) {
	t.Parallel()
	url := scratchtest.New(t)
	s := newShop(t, url)
	mustDeliver(t, s)
	killed(t, url, beforeCommit)
	want(t, s, 0, 0, "running")
	rescue(t, s)
	start(t, s)
	untilWorked(t, s)
	want(t, s, 1, 1, "completed")
	if n := s.worker.replayed.Load(); n != 0 {
		t.Errorf("%d replays, want none", n)
	}
}

// A worker that dies before River has noticed its COMMIT has completed the job all the same. And when the job is worked
// again, for whatever reason, its effect is there already.
func TestKilledAfterCommit(t *testing.T) {
	t.Parallel()
	url := scratchtest.New(t)
	s := newShop(t, url)
	job := mustDeliver(t, s)
	killed(t, url, afterCommit)
	want(t, s, 1, 1, "completed")
	if _, err := s.client.JobRetry(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	want(t, s, 1, 1, "available")
	start(t, s)
	untilWorked(t, s)
	want(t, s, 1, 1, "completed")
	if worked, replayed := s.worker.worked.Load(), s.worker.replayed.Load(); worked != 1 || replayed != 1 {
		t.Errorf("worked %d times with %d replays, want 1 and 1", worked, replayed)
	}
}

// A job that is taken for stuck while it runs is worked by two at once: the second one waits for the first, and replays.
func TestTwoWorkersOfOneJob(t *testing.T) {
	t.Parallel()
	url := scratchtest.New(t)
	s := newShop(t, url)
	mustDeliver(t, s)
	arrived, release := make(chan struct{}), make(chan struct{})
	s.worker.afterEffect = func(attempt int) {
		if attempt == 1 {
			close(arrived)
			<-release
		}
	}
	start(t, s)
	<-arrived
	rescue(t, s)
	scratchtest.UntilBlocked(t, scratchtest.Connect(t, url))
	close(release)
	untilWorked(t, s)
	scratchtest.Until(t, scratchtest.Connect(t, url), `select attempt = 2 from `+schema+`.river_job`)
	if err := s.client.Stop(t.Context()); err != nil { // waits for both
		t.Fatal(err)
	}
	want(t, s, 1, 1, "completed")
	if worked, replayed := s.worker.worked.Load(), s.worker.replayed.Load(); worked != 2 || replayed != 1 {
		t.Errorf("worked %d times with %d replays, want 2 and 1", worked, replayed)
	}
}

// An order that gets another receipt is refused for good, and its job is not tried again.
func TestAnotherReceipt(t *testing.T) {
	t.Parallel()
	s := newShop(t, scratchtest.New(t))
	mustDeliver(t, s)
	second, err := s.webhook.deliver(t.Context(), "evt_2", receiptArgs{Order: "o1", Cents: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	start(t, s)
	untilWorked(t, s)
	_, receipts, err := s.count(t.Context())
	if err != nil || receipts != 1 {
		t.Errorf("%d receipts, %v; want 1", receipts, err)
	}
	var cancelled int
	err = s.pool.QueryRow(t.Context(), `select count(*) from river_job where state = 'cancelled' and attempt = 1`).Scan(&cancelled)
	if err != nil || cancelled != 1 {
		t.Errorf("%d of the jobs are cancelled at their first attempt, %v; want 1 (job %d, or the one before it)", cancelled, err, second)
	}
}
