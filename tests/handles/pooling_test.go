package handles

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

// serverConnections is how many the bouncer of the suite has. It takes them in turn, so that hardly two statements of a client
// outside a transaction run in one connection.
const serverConnections = 4

// pooled are the modes that work behind transaction pooling of any release: what they send for one statement is one message
// to the server and back, or needs nothing of the one before.
var pooled = []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}

// TestPgBouncer runs the whole suite through transaction pooling.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	b := startBouncer(t, database, serverConnections, 0)
	proof.Report(t, "PgBouncer "+b.version.String())
	b.fill(t, serverConnections)
	makers := slices.Concat(pgxHandles(pooled...), stdlibHandles(pooled...), pqHandles(true))
	run(t, b.target, makers, false, checks)
}

// TestPgBouncerPreparedStatements: with its max_prepared_statements a newer PgBouncer takes pgx's default mode too.
func TestPgBouncerPreparedStatements(t *testing.T) {
	t.Parallel()
	if _, v := findBouncer(t); v.before(prepared.major, prepared.minor) {
		testdb.NotRun(t, fmt.Sprintf("cache_statement through PgBouncer: it follows prepared statements since %v, and this is %v", prepared, v))
	}
	b := startBouncer(t, newDatabase(t), serverConnections, 100)
	b.fill(t, serverConnections)
	mode := pgx.QueryExecModeCacheStatement
	run(t, b.target, slices.Concat(pgxHandles(mode), stdlibHandles(mode)), false, checks)
}

// TestPgBouncerBreaksCachedStatements: without max_prepared_statements, cache_statement looks for its statement in a connection
// that never saw it, and makes it where another client has made it.
func TestPgBouncerBreaksCachedStatements(t *testing.T) {
	t.Parallel()
	b := startBouncer(t, newDatabase(t), serverConnections, 0)
	b.fill(t, serverConnections)
	states := map[string]bool{}
	for range 2 * serverConnections {
		conn := must[*pgx.Conn](t)(pgx.ConnectConfig(t.Context(), connConfig(t, b.target, pgx.QueryExecModeCacheStatement)))
		for range 3 {
			_, err := kvpg.Put(t.Context(), conn, space, "k", 1, kvpg.Forever(), nil)
			var e *kvpg.Error
			if errors.As(err, &e) {
				states[e.SQLState] = true
			}
		}
		_ = conn.Close(t.Context())
	}
	if !states["26000"] || !states["42P05"] {
		t.Errorf("the errors were %v, want 26000 (no such prepared statement) and 42P05 (it exists already)", states)
	}
}

// TestPgBouncerBetweenMessages lets another client's statement run in the server's connection before each message of a call. What
// sends a call in one message doesn't notice; what asks for the parameters' types first executes the other client's statement.
func TestPgBouncerBetweenMessages(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	b := startBouncer(t, database, 1, 0) // all clients share one connection
	other := must[*pgx.Conn](t)(pgx.ConnectConfig(t.Context(), connConfig(t, b.target, pgx.QueryExecModeExec)))
	t.Cleanup(func() { other.Close(context.WithoutCancel(t.Context())) })
	between := func() {
		var got string
		if err := other.QueryRow(t.Context(), `select $1::text || $2::text`, "other", "wise").Scan(&got); err != nil || got != "otherwise" {
			t.Errorf("the other client got %q, %v", got, err)
		}
	}
	open := map[string]func(before func()) kvpg.DB{}
	for _, mode := range append([]pgx.QueryExecMode{pgx.QueryExecModeDescribeExec}, pooled...) {
		open["pgx, "+name(mode)] = func(before func()) kvpg.DB { return interruptedConn(t, b.target, mode, before) }
		open["stdlib, "+name(mode)] = func(before func()) kvpg.DB {
			return kvpg.FromSQL(openDB(t, stdlib.OpenDB(*interruptedConfig(t, b.target, mode, before))))
		}
	}
	for how, binary := range map[string]bool{"lib/pq": false, "lib/pq, binary_parameters": true} {
		open[how] = func(before func()) kvpg.DB {
			connector := pqConnector(t, b.target, binary)
			connector.Dialer(interruptingDialer{before})
			return kvpg.FromSQL(openDB(t, sql.OpenDB(connector)))
		}
	}
	broken := []string{"pgx, describe_exec", "stdlib, describe_exec", "lib/pq"}
	for how, open := range open {
		armed, ns := false, freshSpace()
		db := open(func() {
			if armed {
				between()
			}
		})
		if _, ok, err := kvpg.Get(t.Context(), db, ns, "k"); ok || err != nil { // connects
			t.Fatalf("%s: %v, %v", how, ok, err)
		}
		armed = true
		_, err := kvpg.Put(t.Context(), db, ns, "k", 1, kvpg.Forever(), nil)
		armed = false
		_, stored, getErr := kvpg.Get(t.Context(), other, ns, "k")
		if getErr != nil {
			t.Fatal(getErr)
		}
		if want := !slices.Contains(broken, how); stored != want || want != (err == nil) {
			t.Errorf("%s: the value is stored: %v, %v; want %v", how, stored, err, want)
		}
	}
}

func openDB(t *testing.T, db *sql.DB) *sql.DB {
	t.Cleanup(func() { db.Close() })
	return db
}

func interruptedConn(t *testing.T, at target, mode pgx.QueryExecMode, before func()) *pgx.Conn {
	t.Helper()
	conn := must[*pgx.Conn](t)(pgx.ConnectConfig(t.Context(), interruptedConfig(t, at, mode, before)))
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func interruptedConfig(t *testing.T, at target, mode pgx.QueryExecMode, before func()) *pgx.ConnConfig {
	t.Helper()
	config := connConfig(t, at, mode)
	config.DialFunc = interruptingDialer{before}.DialContext
	return config
}

// interruptingDialer calls a function before each write to the server.
type interruptingDialer struct{ before func() }

func (d interruptingDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return interrupted{conn, d.before}, err
}

func (d interruptingDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d interruptingDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

type interrupted struct {
	net.Conn
	before func()
}

func (c interrupted) Write(b []byte) (int, error) {
	c.before()
	return c.Conn.Write(b)
}
