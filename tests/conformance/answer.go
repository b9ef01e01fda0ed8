package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// one executes a statement that gives one row of one column.
func one(ctx context.Context, conn *pgconn.PgConn, sql string, args ...[]byte) ([]byte, error) {
	result := conn.ExecParams(ctx, sql, args, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	if len(result.Rows) != 1 || len(result.Rows[0]) != 1 {
		return nil, fmt.Errorf("%d rows from %s", len(result.Rows), sql)
	}
	return result.Rows[0][0], nil
}

func newTenant() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return fmt.Appendf(nil, "%x", b)
}

const utcForm = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

func (r *run) clock(ctx context.Context) (int64, error) {
	s, err := one(ctx, r.Conn, "select pg_catalog.to_char(pg_catalog.clock_timestamp() at time zone 'UTC', "+utcForm+")")
	if err != nil {
		return 0, err
	}
	return micros(string(s))
}

// shownValue is a value as [fold] would leave it, where it is one long string: so that what is
// known to be long need not come over the wire.
const shownValue = `case when jsonb_typeof(value) = 'string' and length(value #>> '{}') > 300
	then jsonb_build_object('$str', jsonb_build_object('chars', length(value #>> '{}'),
		'sha256', left(encode(sha256(convert_to(value #>> '{}', 'UTF8')), 'hex'), 16))) else value end`

// rows is the state: the rows of tenants A and B that are alive at the call's instant.
func (r *run) rows(ctx context.Context) (map[string][]any, error) {
	state := map[string][]any{}
	for _, tenant := range []string{"A", "B"} {
		reply, err := one(ctx, r.State, `select coalesce(json_agg(json_build_object('ns', namespace, 'key', key, 'value', `+shownValue+`,
				'version', version, 'expiresAt', to_char(expires_at at time zone 'UTC', `+utcForm+`),
				'createdAt', to_char(created_at at time zone 'UTC', `+utcForm+`),
				'updatedAt', to_char(updated_at at time zone 'UTC', `+utcForm+`))
			order by namespace collate "C", key collate "C"), '[]')::text
			from queen.kv where tenant_id = $1::uuid and (expires_at is null or expires_at > $2::timestamptz)`,
			r.tenants[tenant], []byte(*r.c.Now))
		if err != nil {
			return nil, err
		}
		v, err := parse(reply)
		if err != nil {
			return nil, err
		}
		if list := v.([]any); len(list) > 0 {
			state[tenant] = list
		}
	}
	return state, nil
}

var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)

// micros is a time as the contract writes it (RFC 3339, UTC, six decimals, Z) in microseconds
// since 1970.
func micros(s string) (int64, error) {
	if !timeForm.MatchString(s) {
		return 0, fmt.Errorf("%q is not RFC 3339 in UTC with six decimals and Z", s)
	}
	t, err := time.Parse("2006-01-02T15:04:05.000000Z", s)
	return t.UnixMicro(), err
}

// time is a time of an answer, counted from the call's instant.
func (r *run) time(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	us, err := micros(s)
	switch {
	case err != nil:
		return map[string]any{"$notATime": s}
	case r.instant == nil:
		return "$time"
	}
	return fmt.Sprintf("$now%+d", us-*r.instant)
}

// plain is a result, a row or a detail without what differs from run to run.
func (r *run) plain(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	_, isWrite := m["applied"]
	out := make(map[string]any, len(m))
	for name, member := range m {
		switch name {
		case "version":
			if version, ok := member.(json.Number); ok && version != "0" {
				if member = r.versions[version]; member == "" {
					member = "$unknown"
				}
			}
		case "expiresAt", "updatedAt", "createdAt":
			member = r.time(member)
			if _, bad := member.(map[string]any); name == "expiresAt" && isWrite && !r.c.writeExpiry && !bad {
				continue // the file's results of writes don't hold it
			}
		case "rows":
			if list, ok := member.([]any); ok {
				rows := make([]any, len(list))
				for i := range list {
					rows[i] = r.plain(list[i])
				}
				member = rows
			}
		}
		out[name] = member
	}
	return out
}

func (r *run) failure(e *pgconn.PgError) map[string]any {
	var detail any = e.Detail
	if v, err := parse([]byte(e.Detail)); err == nil {
		detail = r.plain(v)
	}
	return map[string]any{"sqlstate": e.Code, "message": e.Message, "detail": detail}
}

// updatedAts are the times at which the rows in these results were written.
func updatedAts(results []any) (times []string) {
	for _, v := range results {
		m, _ := v.(map[string]any)
		if s, ok := m["updatedAt"].(string); ok {
			times = append(times, s)
		}
		rows, _ := m["rows"].([]any)
		times = append(times, updatedAts(rows)...)
	}
	return times
}
