package races

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// do calls op on the key with p_now, and gives its verdict, in which versions are not yet names
// but numbers. An error of the database is a verdict's err; err is for what has no place there.
func (k *names) do(ctx context.Context, conn *pgx.Conn, o op, now instant) (verdict, error) {
	var v verdict
	var err error
	switch o.name {
	case "prune":
		_, err = conn.Exec(ctx, `delete from queen.kv where ctid = any (array(
			select ctid from queen.kv where namespace = $1 and key = $2 and expires_at <= $3 for update skip locked))`,
			namespace, k.key, now.time())
	case "once", "onceRun":
		v, err = k.once(ctx, conn, o, now)
	default:
		v, err = k.apply(ctx, conn, o, now)
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return k.failed(pgErr, o)
	}
	return v, err
}

func (k *names) once(ctx context.Context, conn *pgx.Conn, o op, now instant) (verdict, error) {
	var state string
	var token *int64
	var result []byte
	err := conn.QueryRow(ctx, `select state, token, result
		from queen.kv_once_begin_v1($1, $2, $3, p_wait => $4, p_now => $5)`,
		namespace, k.key, int64(o.ttl)*1000, !o.busy, now.time()).Scan(&state, &token, &result)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{applied: state == "run", reason: state, value: string(result)}
	if token != nil {
		v.version = fmt.Sprint(*token)
	}
	if o.name == "onceRun" {
		_, err = conn.Exec(ctx, `select queen.kv_once_end_v1($1, $2, $3, $4, p_now => $5)`,
			namespace, k.key, token, []byte(onceResult), now.time())
	}
	return v, err
}

// A result is a write's, as kv_apply_v1 gives it; the DETAIL of kv_precondition_failed has its names.
type result struct {
	Index     int
	Op, Ns    string
	Key       string
	Applied   bool
	Reason    string
	Value     json.RawMessage
	Version   json.Number
	ExpiresAt *time.Time
}

func (k *names) verdict(r result) verdict {
	return verdict{applied: r.Applied, reason: r.Reason, value: k.shown(string(r.Value)),
		version: r.Version.String(), expires: instantOf(r.ExpiresAt)}
}

func (k *names) apply(ctx context.Context, conn *pgx.Conn, o op, now instant) (verdict, error) {
	index, ops := 0, []map[string]any{k.json(o)}
	if o.batch { // the others' keys are of this call alone
		index = 1
		for _, suffix := range []string{"~before", "~after"} {
			other := k.json(o)
			other["key"] = fmt.Sprint(k.key, suffix, conn.PgConn().PID())
			ops = append(ops, other)
		}
		ops[0], ops[1] = ops[1], ops[0]
	}
	text, err := json.Marshal(ops)
	if err != nil {
		return verdict{}, err
	}
	var answer string
	if err := conn.QueryRow(ctx, `select queen.kv_apply_v1($1::jsonb, p_now => $2)::text`,
		string(text), now.time()).Scan(&answer); err != nil {
		return verdict{}, err
	}
	var results []result
	if err := json.Unmarshal([]byte(answer), &results); err != nil {
		return verdict{}, err
	}
	if len(results) != len(ops) || results[index].Index != index || results[index].Key != k.key {
		return verdict{}, fmt.Errorf("the answer is not the ops': %s", answer)
	}
	return k.verdict(results[index]), nil
}

func (k *names) json(o op) map[string]any {
	m := map[string]any{"op": o.name, "ns": namespace, "key": k.key}
	if o.name == "put" || o.name == "putIfAbsent" {
		m["value"] = json.RawMessage(o.value)
	}
	if o.ttl != 0 {
		m["ttlMs"] = int(o.ttl) * 1000
	} else if o.name != "delete" {
		m["forever"] = true
	}
	if o.name == "incr" {
		m["delta"] = o.delta
	}
	if o.max != nil {
		m["max"] = *o.max
	}
	if o.min != nil {
		m["min"] = *o.min
	}
	if o.expect != "" {
		m["expect"] = k.version[o.expect]
	}
	if o.required {
		m["required"] = true
	}
	return m
}

// failed is an error as a verdict: a lost required op tells the row in its DETAIL.
func (k *names) failed(pgErr *pgconn.PgError, o op) (verdict, error) {
	v := verdict{err: pgErr.Code}
	if pgErr.Message != "kv_precondition_failed" {
		return v, nil
	}
	var r result
	if err := json.Unmarshal([]byte(pgErr.Detail), &r); err != nil {
		return v, fmt.Errorf("DETAIL %s: %w", pgErr.Detail, err)
	}
	if r.Op != o.name || r.Ns != namespace || r.Key != k.key {
		return v, fmt.Errorf("DETAIL %s is not of %s", pgErr.Detail, o.name)
	}
	v = k.verdict(r)
	v.err = pgErr.Code
	return v, nil
}
