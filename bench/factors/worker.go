package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// db is what a contender calls: a client's connection, and in the check a transaction.
type db interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// A worker makes one client's arguments. The same seed gives the same ones.
type worker struct {
	cell   cell
	random *rand.Rand
	prefix string // of new keys: no two runs share one
	calls  int

	// What the last calls gave, for the check.
	touched  []string // keys, while checking
	checking bool
	found    int
	versions int64  // sum of those found
	answer   string // of a kv_apply_v1 whose text nobody reads
}

func newWorker(c cell, prefix string, seed ...int) *worker {
	return &worker{cell: c, prefix: prefix, random: rand.New(rand.NewPCG(uint64(seed[0]), uint64(seed[1])))}
}

const rowKey, counterKey = "row-%012d", "counter-%012d"

// counters is how many rows of a table are numbers, for incr.
func (c cell) counters() int { return c.rows / 10 }

// key is one of the table's; calls of a hot cell have one.
func (w *worker) key() string { return w.touch(rowKey, w.pick(w.cell.rows)) }

func (w *worker) counter() string { return w.touch(counterKey, w.pick(w.cell.counters())) }

func (w *worker) pick(n int) int {
	if w.cell.hot {
		return 1
	}
	return 1 + w.random.IntN(n)
}

func (w *worker) touch(format string, n int) string {
	key := fmt.Sprintf(format, n)
	w.note(key)
	return key
}

func (w *worker) note(key string) {
	if w.checking {
		w.touched = append(w.touched, key)
	}
}

// keys are n different ones.
func (w *worker) keys(n int) []string {
	keys := make([]string, n)
	start, step := w.random.IntN(w.cell.rows), 1+w.random.IntN(max(1, w.cell.rows/n-1))
	for i := range keys {
		keys[i] = w.touch(rowKey, 1+(start+i*step)%w.cell.rows)
	}
	return keys
}

// duplicate says for one call whether its key is an old one.
func (w *worker) duplicate() bool { return w.random.IntN(100) < w.cell.dup }

// fresh is a key that was never used.
func (w *worker) fresh() string {
	w.calls++
	key := fmt.Sprintf("new-%s-%09d", w.prefix, w.calls)
	w.note(key)
	return key
}

// value is the JSON text of a string of random characters.
func (w *worker) value() string { return valueOf(w.random.IntN(1e9), w.cell.value) }

// saw counts a row that a read gave.
func (w *worker) saw(version int64) {
	w.found++
	w.versions += version
}
