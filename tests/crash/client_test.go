package crash

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
)

var deliveries = kvpg.NewNamespace("deliveries")

const (
	// retention outlives every test: no marker may expire in one.
	retention = 24 * time.Hour
	// attemptLimit ends an attempt that nobody answers; a server that was killed is back long before.
	attemptLimit = 30 * time.Second
)

// errUnknown: the connection was lost at COMMIT. The effect may be there or not.
var errUnknown = errors.New("the outcome is unknown")

// An answer is what a delivery got: the id of its row in the ledger.
type answer struct {
	row      int64
	replayed bool
}

// A way is how a client gets a delivery's effect, a row in the ledger, and its marker into the database.
type way func(ctx context.Context, conn *pgx.Conn, level pgx.TxIsoLevel, key string) (answer, error)

// A client delivers over one connection, and over a new one when that breaks.
type client struct {
	config *pgx.ConnConfig
	level  pgx.TxIsoLevel
	way    way
	conn   *pgx.Conn
}

func newClient(url string, level pgx.TxIsoLevel, way way) (*client, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	return &client{config: config, level: level, way: way}, nil
}

// deliver makes one attempt. After any error the answer to "was it done" is the next attempt, with the same key.
func (c *client) deliver(ctx context.Context, key string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, c.config)
		if err != nil {
			return answer{}, err
		}
		c.conn = conn
	}
	return c.way(ctx, c.conn, c.level, key)
}

func (c *client) close() {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.conn.Close(ctx)
	}
}

// once is the way the contract promises something of: effect and marker in one transaction.
func once(ctx context.Context, conn *pgx.Conn, level pgx.TxIsoLevel, key string) (a answer, err error) {
	err = transaction(ctx, conn, level, func(tx pgx.Tx) error {
		r, err := kvpg.Once(ctx, tx, deliveries, key, retention, func(ctx context.Context) ([]byte, error) {
			row, err := effect(ctx, tx, key)
			return []byte(strconv.FormatInt(row, 10)), err
		}, nil)
		if err != nil {
			return err
		}
		a.replayed = r.Replayed
		a.row, err = strconv.ParseInt(string(r.Result), 10, 64)
		return err
	})
	return a, err
}

// transaction tells a failed COMMIT from what failed before: COMMIT's outcome is unknown, unless nothing was committed for sure.
func transaction(ctx context.Context, conn *pgx.Conn, level pgx.TxIsoLevel, do func(tx pgx.Tx) error) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := do(tx); err != nil {
		return err
	}
	err = tx.Commit(ctx)
	if err != nil && !kvpg.IsRetryable(err) && !errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

func effect(ctx context.Context, tx pgx.Tx, key string) (row int64, err error) {
	err = tx.QueryRow(ctx, "insert into ledger (delivery) values ($1) returning id", key).Scan(&row)
	return row, err
}
