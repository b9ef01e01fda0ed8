package conformance

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

const callWithTexts = `
	select queen.kv_apply_v1((
		select coalesce(jsonb_agg(
			e.op || coalesce((select jsonb_object_agg(t.name, t.value) from pg_temp.texts as t where t.op = e.position and t.position is null), '{}')
			     || coalesce((select jsonb_build_object(min(t.name), jsonb_agg(t.value order by t.position))
			                  from pg_temp.texts as t where t.op = e.position and t.position is not null having count(*) > 0), '{}')
			order by e.position), '[]')
		from jsonb_array_elements($1::jsonb) with ordinality as e (op, position)
	), $2::uuid, $3::timestamptz, $4::boolean)::text`

// fromColumns is a caller that makes the ops of a call in SQL, with every text in them (op, ns,
// key, keys[], prefix, after, value ...) read from a column with the given collation. A call
// that is no array of objects is made as it is.
func fromColumns(t *testing.T, conn *pgconn.PgConn, collation string) Caller {
	t.Helper()
	create := "create temp table texts (op int, name text collate " + collation + ", value text collate " + collation + ", position int)"
	if err := conn.Exec(t.Context(), create).Close(); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, conn *pgconn.PgConn, ops, tenant, now, inWire []byte) ([]byte, error) {
		rest, texts, ok := takeTexts(ops)
		if !ok {
			return Direct(ctx, conn, ops, tenant, now, inWire)
		}
		if err := conn.Exec(ctx, "truncate pg_temp.texts").Close(); err != nil {
			return nil, err
		}
		insert := conn.ExecParams(ctx, `insert into pg_temp.texts
			select * from jsonb_to_recordset($1::jsonb) as r (op int, name text, value text, position int)`,
			[][]byte{texts}, nil, nil, nil)
		if _, err := insert.Close(); err != nil {
			return nil, err
		}
		return one(ctx, conn, callWithTexts, rest, tenant, now, inWire)
	}
}

// takeTexts parts the ops of a call into the texts in them, as rows, and the rest.
func takeTexts(ops []byte) (rest, texts []byte, ok bool) {
	v, err := parse(ops)
	list, isArray := v.([]any)
	if err != nil || !isArray {
		return nil, nil, false
	}
	rows := []any{}
	for i, element := range list {
		op, isObject := element.(map[string]any)
		if !isObject {
			return nil, nil, false
		}
		add := func(name, value string, position any) { // nil: not an element of an array
			rows = append(rows, map[string]any{"op": count(i + 1), "name": name, "value": value, "position": position})
		}
		for name, member := range op {
			switch member := member.(type) {
			case string:
				add(name, member, nil)
				delete(op, name)
			case []any:
				if name != "keys" || !allStrings(member) {
					continue
				}
				for position, key := range member {
					add(name, key.(string), count(position))
				}
				if len(member) > 0 {
					delete(op, name)
				}
			}
		}
	}
	return []byte(text(list)), []byte(text(rows)), true
}

func allStrings(list []any) bool {
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return true
}
