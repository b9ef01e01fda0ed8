package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// A Caller calls queen.kv_apply_v1 on conn with the texts of its four arguments, nil for SQL
// NULL, and returns the text of the answer. An error of the server is a *pgconn.PgError.
type Caller func(ctx context.Context, conn *pgconn.PgConn, ops, tenant, now, inWire []byte) ([]byte, error)

// A Player plays cases, one after the other.
type Player struct {
	// Conn makes the calls. Its settings are the ones it was opened with, and a case's own.
	Conn *pgconn.PgConn
	// State reads queen.kv, with ordinary settings.
	State *pgconn.PgConn
	// Call is [Direct] when nil.
	Call Caller
}

// errUnplayable: an earlier answer was not what the case builds on.
var errUnplayable = errors.New("the case can't be played")

// answer is what came of a case, without what differs from run to run.
type answer struct {
	results any
	failure map[string]any // sqlstate, message, detail
	state   map[string]any // nil where the case has none
	faults  []string       // what no case says and yet must hold
}

// Play plays a case, for tenants that nobody has used, and says how its answer differs from
// what the contract wants; nothing when it doesn't.
func (p *Player) Play(ctx context.Context, c *Case) ([]string, error) {
	r := &run{Player: p, c: c, tenants: map[string][]byte{"A": newTenant(), "B": newTenant(), "null": nil},
		versions: map[json.Number]string{}}
	for name, value := range c.Session {
		if _, err := one(ctx, p.Conn, "select pg_catalog.set_config($1, $2, false)", []byte(name), []byte(value)); err != nil {
			return nil, err
		}
	}
	got, err := r.play(ctx)
	for name := range c.Session {
		if err := p.Conn.Exec(context.WithoutCancel(ctx), "reset "+name).Close(); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return differences(c.Expect, got), nil
}

// run is one case being played.
type run struct {
	*Player
	c        *Case
	tenants  map[string][]byte
	versions map[json.Number]string // as the server wrote it: "$vN"
	instant  *int64                 // the call's, in microseconds since 1970
}

func (r *run) play(ctx context.Context) (got answer, err error) {
	for _, s := range r.c.Setup {
		if _, err := r.call(ctx, &s); err != nil {
			return got, fmt.Errorf("%w: the setup: %w", errUnplayable, err)
		}
	}
	var list []any
	if r.c.Now == nil {
		list, err = r.atNoTime(ctx)
	} else {
		var us int64
		if us, err = micros(*r.c.Now); err != nil {
			return got, err
		}
		r.instant = &us
		list, err = r.pages(ctx)
	}
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		got.failure, _ = fold(r.failure(refused)).(map[string]any)
	case err != nil:
		return got, err
	default:
		plain := make([]any, len(list))
		for i, result := range list {
			plain[i] = r.plain(result)
		}
		got.results = plain // not folded as a whole: the comparison goes through it
		if len(plain) > 24 {
			got.results = fold(plain)
		} else {
			for i := range plain {
				plain[i] = fold(plain[i])
			}
		}
	}
	if r.c.Now == nil || r.c.Tenant == "null" {
		return got, nil // what is alive can't be told
	}
	rows, err := r.rows(ctx)
	if err != nil {
		return got, err
	}
	got.faults = r.expiryFaults(list, rows)
	got.state = map[string]any{}
	for name, list := range rows {
		for i := range list {
			list[i] = r.plain(list[i])
		}
		got.state[name] = fold(list)
	}
	return got, nil
}
