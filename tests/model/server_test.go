package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/model"
	"github.com/queenkv/queenkv/tests/testdb"
)

func num64(n int) string { return strconv.Itoa(n) }

// A server is a connection to a database with the functions.
type server struct {
	conn   *pgconn.PgConn
	limits model.Limits
}

// Times go as microseconds: what text they have in results is compared there.
const stateSQL = `select tenant_id, namespace, key, value, version, (extract(epoch from expires_at) * 1000000)::bigint,
	(extract(epoch from created_at) * 1000000)::bigint, (extract(epoch from updated_at) * 1000000)::bigint
	from queen.kv where tenant_id = any ($1::uuid[])`

func connect(t *testing.T, db *testdb.DB, l model.Limits) *server {
	t.Helper()
	conn := db.Conn(t, func(c *pgx.ConnConfig) {
		c.RuntimeParams["synchronous_commit"] = "off" // nobody crashes here
	}).PgConn()
	for name, sql := range map[string]string{
		"apply": "select queen.kv_apply_v1($1::jsonb, $2::uuid, $3::timestamptz, $4::boolean)::text",
		"state": stateSQL,
		"sweep": "select queen.kv_expire_step_v1(array(select generate_series(0, 63)::smallint), $1::timestamptz, 1000000) ->> 'done'",
	} {
		if _, err := conn.Prepare(t.Context(), name, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	return &server{conn, l}
}

// An answer is what a call gave: results, or an error of the server.
type answer struct {
	results any
	failure *pgconn.PgError
}

func (a answer) String() string {
	if a.failure != nil {
		return fmt.Sprintf("%s %s %s", a.failure.Code, a.failure.Message, a.failure.Detail)
	}
	return fmt.Sprint(a.results)
}

// apply makes a call, whose ops are given as their text; empty is NULL.
func (s *server) apply(ctx context.Context, ops string, c model.Call) (answer, error) {
	nullable := func(s string) []byte {
		if s == "" {
			return nil
		}
		return []byte(s)
	}
	r := s.conn.ExecPrepared(ctx, "apply", [][]byte{
		nullable(ops), nullable(c.Tenant), []byte(c.Now.String()), strconv.AppendBool(nil, c.InWire),
	}, nil, nil).Read()
	var failure *pgconn.PgError
	switch {
	case errors.As(r.Err, &failure):
		return answer{failure: failure}, nil
	case r.Err != nil:
		return answer{}, r.Err
	}
	results, err := parse(r.Rows[0][0])
	return answer{results: results}, err
}

// sweep removes what is not alive, of every tenant: a server is for one history at a time.
func (s *server) sweep(ctx context.Context, now model.Instant) error {
	r := s.conn.ExecPrepared(ctx, "sweep", [][]byte{[]byte(now.String())}, nil, nil).Read()
	if r.Err == nil && string(r.Rows[0][0]) != "true" {
		return errors.New("it is not done")
	}
	return r.Err
}

// A stored row is one of the table.
type stored struct {
	tenant                             string
	id                                 model.ID
	value                              any
	version, expires, created, updated string
}

// state reads the rows of tenants.
func (s *server) state(ctx context.Context, tenants []string) ([]stored, error) {
	r := s.conn.ExecPrepared(ctx, "state", [][]byte{[]byte("{" + strings.Join(tenants, ",") + "}")}, nil, nil).Read()
	if r.Err != nil {
		return nil, r.Err
	}
	rows := make([]stored, len(r.Rows))
	for i, c := range r.Rows {
		v, err := parse(c[3])
		if err != nil {
			return nil, err
		}
		rows[i] = stored{
			string(c[0]), model.ID{Namespace: string(c[1]), Key: string(c[2])}, v, string(c[4]), string(c[5]), string(c[6]), string(c[7]),
		}
	}
	return rows, nil
}

// parse reads JSON whose numbers stay as written.
func parse(text []byte) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// small are limits that random batches reach.
var small = model.Limits{
	NamespaceBytes: 8, KeyBytes: 24,
	ValueBytes: 200, ValueDepth: model.Contract.ValueDepth, // the SQL has the depth in a path, too
	Ops: 8, OpsInWire: 5,
	Keys: 30, KeysInWire: 12,
	Page: 3, PageMax: 5,
	ReadBytes:   60,
	TTLMillis:   model.Contract.TTLMillis,
	DetailBytes: 200,
}

// limitsSQL gives a database other limits: all of the SQL takes them from this one function. The
// names that no call of the model comes near keep the contract's numbers.
func limitsSQL(l model.Limits) string {
	return fmt.Sprintf(`create or replace function queen.kv_limit_v1(p_name text) returns bigint
language sql immutable parallel safe begin atomic select case p_name collate "C"
when 'namespace_bytes' then %d when 'key_bytes' then %d when 'value_bytes' then %d when 'value_depth' then %d
when 'ops' then %d when 'ops_in_wire' then %d when 'keys' then %d when 'keys_in_wire' then %d
when 'page' then %d when 'page_max' then %d when 'read_bytes' then %d when 'ttl_ms' then %d
when 'once_result_bytes' then 48000 when 'detail_bytes' then %d when 'rounds' then 16
when 'sweep_rows' then 1000000 when 'sweep_windows' then 8 when 'usage_exact_rows' then 50000
when 'usage_pages' then 4096 when 'usage_step_rows' then 200000 end::bigint; end;`,
		l.NamespaceBytes, l.KeyBytes, l.ValueBytes, l.ValueDepth, l.Ops, l.OpsInWire, l.Keys, l.KeysInWire,
		l.Page, l.PageMax, l.ReadBytes, l.TTLMillis, l.DetailBytes)
}
