package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// Direct calls the function with parameters. Every name is qualified: nothing here depends
// on the search path.
func Direct(ctx context.Context, conn *pgconn.PgConn, ops, tenant, now, inWire []byte) ([]byte, error) {
	return one(ctx, conn, `select queen.kv_apply_v1(
		$1::pg_catalog.jsonb, $2::pg_catalog.uuid, $3::pg_catalog.timestamptz, $4::pg_catalog.bool)::pg_catalog.text`,
		ops, tenant, now, inWire)
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
