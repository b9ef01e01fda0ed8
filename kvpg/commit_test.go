package kvpg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestRunTxCommitErrors(t *testing.T) {
	t.Parallel()
	server := func(severity, state string) error {
		return &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: state}
	}
	for name, c := range map[string]struct {
		err     error
		unknown bool
	}{
		"rolled back instead":          {pgx.ErrTxCommitRollback, false},
		"never sent":                   {fmt.Errorf("commit: %w", neverSent{}), false},
		"deferred constraint":          {server("ERROR", "23503"), false},
		"a trigger's error":            {server("ERROR", "P0001"), false},
		"disk full":                    {server("ERROR", "53100"), false},
		"cancelled":                    {server("ERROR", "57014"), false},
		"severity in German alone":     {&pgconn.PgError{Severity: "FEHLER", Code: "23503"}, true},
		"severity without the V field": {&pgconn.PgError{Severity: "ERROR", Code: "23503"}, false},
		"shut down":                    {server("FATAL", "57P01"), true},
		"crashed":                      {server("FATAL", "57P02"), true},
		"a timeout of the session":     {server("FATAL", "25P04"), true},
		"panic":                        {server("PANIC", "58030"), true},
		"fatal":                        {server("FATAL", "XX000"), true},
		"pooler lost its server":       {server("ERROR", "08P01"), true},
		"completion unknown":           {server("ERROR", "40003"), true},
		"broken connection":            {io.ErrUnexpectedEOF, true},
		"context on the way":           {context.Canceled, true},
		"other driver, constraint":     {otherDriver{"23503", "pq: violates"}, false},
		"other driver, shut down":      {otherDriver{"57P01", "pq: terminating"}, true},
		"other driver, disk full":      {otherDriver{"53100", "pq: no space"}, true},
		"other driver, internal":       {otherDriver{"XX000", "pq: oops"}, true},
		"lib/pq, fatal":                {fieldsOf("FATAL", "42501"), true},
		"lib/pq, disk full":            {fieldsOf("ERROR", "53100"), false},
		"other driver, aborted":        {errors.New("pq: could not complete operation in a failed transaction"), false},
		"other driver, aborted, old":   {errors.New("pq: Could not complete operation in a failed transaction"), false},
		"ended by fn, pgx":             {pgx.ErrTxClosed, true},
		"ended by fn, database/sql":    {sql.ErrTxDone, true},
	} {
		r := &txRecorder{commit: func(context.Context, int) error { return c.err }}
		err := RunTx(context.Background(), r, failing(0, nil), nil)
		if !errors.Is(err, c.err) || errors.Is(err, ErrCommitUnknown) != c.unknown {
			t.Errorf("%s: got %v, want ErrCommitUnknown: %v", name, err, c.unknown)
		}
		r.became(t, 1, 0, 1)
	}
}

// An error of COMMIT that is unknown is not retried, whatever else the chain holds.
func TestRunTxNeverRetriesAnUnknownCommit(t *testing.T) {
	t.Parallel()
	unknown := errors.Join(io.ErrUnexpectedEOF, &pgconn.PgError{Severity: "FATAL", Code: "40001"})
	r := &txRecorder{commit: func(context.Context, int) error { return unknown }}
	if err := RunTx(context.Background(), r, failing(0, nil), nil); !errors.Is(err, ErrCommitUnknown) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	r.became(t, 1, 0, 1)
	// One of an inner RunTx, that fn passes on.
	outer := &txRecorder{}
	err := RunTx(context.Background(), outer, func(ctx context.Context, _ *recordedTx) error {
		return errors.Join(RunTx(ctx, r, failing(0, nil), nil), errSerialization)
	}, nil)
	if !errors.Is(err, ErrCommitUnknown) {
		t.Errorf("got %v", err)
	}
	outer.became(t, 1, 0, 1)
}

// A context that ends while COMMIT is on its way leaves time for the answer.
func TestRunTxContextEndsDuringCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  time.Duration
		unknown bool
	}{"answered": {4 * time.Second, false}, "not answered": {time.Hour, true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := &txRecorder{commit: func(ctx context.Context, _ int) error {
				select {
				case <-time.After(c.answer):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
			began := time.Now()
			err := RunTx(ctx, r, failing(0, nil), nil)
			if errors.Is(err, ErrCommitUnknown) != c.unknown || c.unknown != errors.Is(err, context.DeadlineExceeded) || (err == nil) == c.unknown {
				t.Errorf("%s: got %v", name, err)
			}
			want := min(c.answer, 6*time.Second)
			if took := time.Since(began); took != want {
				t.Errorf("%s: it took %v, want %v", name, took, want)
			}
		})
	}
}

// severityDriver is an error that gives PostgreSQL's fields by letter, as lib/pq's do.
type severityDriver struct {
	otherDriver
	severity string
}

func (e severityDriver) Get(field byte) string {
	if field == 'S' {
		return e.severity
	}
	return ""
}

func fieldsOf(severity, state string) error {
	return severityDriver{otherDriver{state, "pq: oops"}, severity}
}
