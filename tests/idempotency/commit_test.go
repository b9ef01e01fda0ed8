package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg/idempotency"
	"github.com/queenkv/queenkv/tests/testdb"
)

// The response is sent after COMMIT: one that COMMIT itself refuses (a deferred constraint) is never sent.
func TestResponseAfterCommit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, over wrap) {
		a := start(t, over, nil, create)
		a.db.Exec(t, "alter table effect add unique (name) deferrable initially deferred; insert into effect values ('b')")
		expect(t, a.send(t, request{body: "b"}), http.StatusInternalServerError, idempotency.CodeInternal, false)
		a.reported(t, "SQLSTATE 23505")
		a.db.Exec(t, "delete from effect")
		expect(t, a.send(t, request{body: "b"}), http.StatusCreated, "b", false)
		a.effects(t, "b")
	})
}

// A cutter cuts the connections of a pool at COMMIT, once.
type cutter struct {
	mu    sync.Mutex
	armed bool
	lost  bool // COMMIT does not reach the server; else its answer does not reach the client
}

// cutConn is a connection to the server. pgx sends COMMIT in a packet of its own and waits for the answer.
type cutConn struct {
	net.Conn
	cutter *cutter
	deaf   bool
}

var (
	commitQuery = []byte("Q\x00\x00\x00\x0bcommit\x00")
	commitDone  = []byte("C\x00\x00\x00\x0bCOMMIT\x00")
)

func (c *cutConn) Write(p []byte) (int, error) {
	c.cutter.mu.Lock()
	defer c.cutter.mu.Unlock()
	if c.cutter.armed && bytes.Equal(p, commitQuery) {
		c.cutter.armed = false
		if c.cutter.lost {
			return len(p), c.Close()
		}
		c.deaf = true
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.cutter.mu.Lock()
	defer c.cutter.mu.Unlock()
	if c.deaf && bytes.Contains(p[:n], commitDone) {
		return 0, errors.Join(net.ErrClosed, c.Close())
	}
	return n, err
}

// When the connection is lost during COMMIT the client is told to ask again, and the same request with the same key finds out.
func TestConnectionLostDuringCommit(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"COMMIT is lost": true, "its answer is lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut := &cutter{lost: lost}
			over := func(t *testing.T, db *testdb.DB, opts *idempotency.Options) func(http.Handler) http.Handler {
				pool := db.Pool(t, func(c *pgxpool.Config) {
					c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
						conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
						return &cutConn{Conn: conn, cutter: cut}, err
					}
				})
				return idempotency.New(pool, requests, time.Hour, user, opts)
			}
			a := start(t, over, nil, create)
			cut.mu.Lock()
			cut.armed = true
			cut.mu.Unlock()
			got := a.send(t, request{body: "b"})
			expect(t, got, http.StatusServiceUnavailable, idempotency.CodeOutcomeUnknown, false)
			if got.header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
			}
			a.reported(t, "kv_commit_unknown")
			a.idle(t) // a lost COMMIT leaves the server to find out that the client is gone
			expect(t, a.send(t, request{body: "b"}), http.StatusCreated, "b", !lost)
			a.effects(t, "b")
		})
	}
}
