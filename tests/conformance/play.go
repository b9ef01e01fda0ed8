package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"

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

// Direct calls the function with parameters. Every name is qualified: nothing here depends
// on the search path.
func Direct(ctx context.Context, conn *pgconn.PgConn, ops, tenant, now, inWire []byte) ([]byte, error) {
	return one(ctx, conn, `select queen.kv_apply_v1(
		$1::pg_catalog.jsonb, $2::pg_catalog.uuid, $3::pg_catalog.timestamptz, $4::pg_catalog.bool)::pg_catalog.text`,
		ops, tenant, now, inWire)
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

var versionName = regexp.MustCompile(`"(\$v\d+)"`)

// call makes one call, and learns the versions that it gave.
func (r *run) call(ctx context.Context, c *call) ([]any, error) {
	ops, err := r.ops(c)
	if err != nil {
		return nil, err
	}
	tenant := c.Tenant
	if tenant == "" {
		tenant = "A"
	}
	var now, inWire []byte
	if c.Now != nil {
		now = []byte(*c.Now)
	}
	if c.InWire != nil {
		inWire = strconv.AppendBool(nil, *c.InWire)
	}
	caller := r.Call
	if caller == nil {
		caller = Direct
	}
	reply, err := caller(ctx, r.Conn, ops, r.tenants[tenant], now, inWire)
	if err != nil || reply == nil {
		return nil, err
	}
	v, err := parse(reply)
	if err != nil {
		return nil, fmt.Errorf("the answer %.200s: %w", reply, err)
	}
	results, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("the answer %.200s is no array", reply)
	}
	for _, result := range results {
		r.learn(result)
	}
	return results, nil
}

func (r *run) learn(result any) {
	m, _ := result.(map[string]any)
	version, ok := m["version"].(json.Number)
	switch {
	case !ok || version == "0" || m["applied"] != true:
	case m["op"] == "put", m["op"] == "putIfAbsent", m["op"] == "incr":
		if _, known := r.versions[version]; !known {
			r.versions[version] = fmt.Sprintf("$v%d", len(r.versions)+1)
		}
	}
}

// ops is the text of a call's p_ops; nil for SQL NULL.
func (r *run) ops(c *call) ([]byte, error) {
	if len(c.OpsRaw) > 0 {
		v, err := parse(c.OpsRaw)
		if err != nil || v == nil {
			return nil, err
		}
		if s, ok := v.(string); ok {
			return []byte(s), nil // the exact text
		}
		s, err := expandString(v, nil)
		return []byte(s), err
	}
	v, err := expand(c.Ops, nil)
	if err != nil {
		return nil, err
	}
	known := map[string]json.Number{}
	for version, name := range r.versions {
		known[name] = version
	}
	filled := versionName.ReplaceAllStringFunc(text(v), func(quoted string) string {
		version, ok := known[quoted[1:len(quoted)-1]]
		if !ok {
			err = fmt.Errorf("%w: no earlier write was given %s", errUnplayable, quoted)
		}
		return version.String()
	})
	return []byte(filled), err
}

// pages makes the case's call, and with follow the calls for the pages after it.
func (r *run) pages(ctx context.Context) ([]any, error) {
	c := r.c.call
	all, err := r.call(ctx, &c)
	for n := 0; err == nil && r.c.Follow && n < len(all) && n < 60; n++ {
		page, _ := all[n].(map[string]any)
		if page["truncated"] != true {
			break
		}
		op := maps.Clone(c.Ops.([]any)[0].(map[string]any))
		op["after"] = page["nextAfter"]
		c.Ops = []any{op}
		var more []any
		more, err = r.call(ctx, &c)
		all = append(all, more...)
	}
	return all, err
}

// atNoTime makes the call with p_now NULL a while into a transaction: the instant must be the
// clock's and not the transaction's.
func (r *run) atNoTime(ctx context.Context) (list []any, err error) {
	end := "rollback"
	defer func() {
		if closeErr := r.Conn.Exec(context.WithoutCancel(ctx), end).Close(); err == nil {
			err = closeErr
		}
	}()
	if err := r.Conn.Exec(ctx, "begin; select pg_catalog.pg_sleep(0.02)").Close(); err != nil {
		return nil, err
	}
	before, err := r.clock(ctx)
	if err != nil {
		return nil, err
	}
	if list, err = r.call(ctx, &r.c.call); err != nil {
		return nil, err
	}
	after, err := r.clock(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range updatedAts(list) {
		if us, err := micros(s); err == nil && us >= before && us <= after {
			r.instant = &us
			break
		}
	}
	end = "commit"
	return list, nil
}
