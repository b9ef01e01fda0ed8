package fuzz

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestDriverRefusesWhatTheServerCannotHold: a JSON value is refused by the driver, before anything is sent, exactly when the server
// could not read it as JSONB or finds it nested too deep; so that it can't abort the caller's transaction.
func TestDriverRefusesWhatTheServerCannotHold(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	seed, refusals := uint64(proof.Size(t, "KV_PROOF_FUZZ_SEED", 1)), 0
	for i := range uint64(5000) {
		s := newSource(seed, i)
		raw := oddJSON(s)
		if s.one(4) {
			raw = damaged(s, raw)
		}
		if !json.Valid([]byte(raw)) {
			continue
		}
		_, err := kvpg.Put(t.Context(), capture{}, kvpg.NewNamespace("n"), "k", json.RawMessage(raw), kvpg.Forever(), nil)
		refused := !errors.Is(err, errSent)
		var deep *bool
		serverErr := conn.QueryRow(t.Context(), "select queen.kv_value_fault_v1($1::text::jsonb) like 'kv_bad_request%'", raw).Scan(&deep)
		if want := serverErr != nil || deep != nil && *deep; refused != want {
			// The server looks at the size first, so that what is large and deep is too large.
			if refused && serverErr == nil && strings.Contains(err.Error(), "deep") && deep != nil {
				continue
			}
			t.Errorf("input %d: the driver says %v, the server %v\n%.2000q", i, err, serverErr, raw)
		}
		if refused {
			refusals++
		}
	}
	if refusals < 20 {
		t.Errorf("%d refusals, too few to tell", refusals)
	}
}

// capture is a database that nothing comes back from.
type capture struct{}

var errSent = errors.New("sent")

func (capture) QueryRow(context.Context, string, ...any) pgx.Row { return capture{} }

func (capture) Scan(...any) error { return errSent }
