package handles

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// A target is a database, and the way to it.
type target struct {
	url      string
	settings map[string]string // of the sessions
}

// A maker makes one kind of handle.
type maker struct {
	name string
	open func(t *testing.T, at target) *handle
}

// A handle is what the checks run on: what a caller of the driver has in hand, and a way to begin transactions on the same kind of
// connection. It is a kvpg.Beginner.
type handle struct {
	kvpg.DB
	begin func(ctx context.Context) (kvpg.Tx, error)
	isTx  bool // DB is a transaction: an error of the server would spoil it for the checks to come
}

func (h *handle) Begin(ctx context.Context) (kvpg.Tx, error) { return h.begin(ctx) }

// beginner hides the type of transaction that a handle begins.
func beginner[T kvpg.Tx](b kvpg.Beginner[T]) func(context.Context) (kvpg.Tx, error) {
	return func(ctx context.Context) (kvpg.Tx, error) { return b.Begin(ctx) }
}

// mayFail runs f with a handle of this kind for calls that the server may answer with an error.
func (h *handle) mayFail(t *testing.T, f func(db kvpg.DB)) {
	t.Helper()
	if !h.isTx {
		f(h.DB)
		return
	}
	inTx(t, h, func(tx kvpg.Tx) { f(tx) })
}

// inTx runs f with a transaction of its own, which is rolled back if f leaves it open: a connection holds one at a time.
func inTx(t *testing.T, h *handle, f func(tx kvpg.Tx)) {
	t.Helper()
	tx := must[kvpg.Tx](t)(h.Begin(t.Context()))
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // says that it has ended, mostly
	f(tx)
}

// must gives the result of a call that has to succeed.
func must[T any](t *testing.T) func(T, error) T {
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

var space = kvpg.NewNamespace("handles")

// freshSpace is a namespace that no other test sees, in whatever database.
func freshSpace() kvpg.Namespace {
	var tenant [16]byte
	_, _ = rand.Read(tenant[:])
	return space.For(tenant)
}

// newDatabase has the schema, versions that no float64 holds, and a function that fails as it is told.
func newDatabase(t *testing.T) *testdb.DB {
	t.Helper()
	database := testdb.New(t, nil)
	database.Exec(t, `alter sequence queen.kv_version_seq restart with 9007199254740993`)
	database.Exec(t, `create function public.fail(p_state text, p_message text, p_detail text) returns text language plpgsql as $$
begin raise exception using errcode = p_state, message = p_message, detail = p_detail; end $$`)
	return database
}
