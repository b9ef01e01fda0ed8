package sql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// manyAnswer is the result of a getMany, of which the tests look at this.
type manyAnswer struct {
	Rows []struct {
		Key       string
		Value     json.RawMessage
		Version   int64
		ExpiresAt *string
		UpdatedAt string
	}
	Missing   []string
	Truncated bool
}

func getMany(t *testing.T, conn pgx.Tx, keys []string) manyAnswer {
	t.Helper()
	ops, err := json.Marshal([]any{map[string]any{"op": "getMany", "ns": "many", "keys": keys}})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := conn.QueryRow(t.Context(), `select queen.kv_apply_v1($1)::text`, string(ops)).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var answers []manyAnswer
	if err := json.Unmarshal([]byte(text), &answers); err != nil || len(answers) != 1 {
		t.Fatalf("%v in %.200s", err, text)
	}
	return answers[0]
}

// inTransaction gives a transaction in an empty table, which is rolled back.
func inTransaction(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := testdb.New(t, nil).Conn(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx // the connection is closed with the test
}

func exec(t *testing.T, tx pgx.Tx, sql string) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// numbered are n keys of three digits.
func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%03d", i)
	}
	return keys
}

// The read budget is 4 MiB of value text, however few bytes a value takes: 1e60000 is 60,001 digits of text in a dozen bytes. Rows are
// given while any of the budget is left: after 69 of them 4,140,069 of the 4,194,304 bytes are spent, and after 70 all.
func TestManySmallValuesOfLongText(t *testing.T) {
	t.Parallel()
	tx := inTransaction(t)
	exec(t, tx, `insert into queen.kv (namespace, key, value)
		select 'many', lpad(i::text, 3, '0'), '1e60000' from generate_series(0, 99) as i`)
	keys := numbered(100)
	for want, asked := range map[int][]string{69: keys[:69], 70: keys} {
		answer := getMany(t, tx, asked)
		if len(answer.Rows) != want || answer.Truncated != (len(asked) > want) || len(answer.Missing) > 0 {
			t.Errorf("of %d rows %d were given, truncated %t, %d missing; want %d, and none missing",
				len(asked), len(answer.Rows), answer.Truncated, len(answer.Missing), want)
		}
	}
}

// What a budgeted read can't give it does not read: of 200 values of 60,000 bytes out of line, 70 spend the budget (69 are
// 4,140,138 bytes with their quotes), and reading goes on for 50 rows at most, which is the read-ahead of the loop.
func TestGetManyStopsReading(t *testing.T) {
	t.Parallel()
	tx := inTransaction(t)
	exec(t, tx, `insert into queen.kv (namespace, key, value)
		select 'many', lpad(i::text, 3, '0'),
			to_jsonb((select left(string_agg(md5(i || '/' || n), ''), 60000) from generate_series(1, 1875) as n))
		from generate_series(0, 199) as i`)
	const fetched = `select coalesce(idx_scan, 0) from pg_stat_xact_all_tables
		where relid = (select reltoastrelid from pg_class where oid = 'queen.kv'::regclass)`
	var before, after int64
	scan(t, tx, fetched, nil, &before)
	answer := getMany(t, tx, numbered(200))
	scan(t, tx, fetched, nil, &after)
	if len(answer.Rows) != 70 || !answer.Truncated {
		t.Errorf("%d rows were given, truncated %t; want 70, truncated", len(answer.Rows), answer.Truncated)
	}
	if read := after - before; read < 70 || read > 70+50 {
		t.Errorf("%d values were read, want 70 to 120", read)
	}
}

// Whatever is asked for and found, each distinct key is answered once: rows in byte order, missing keys in input order.
func TestGetManyAnswersEachKeyOnce(t *testing.T) {
	t.Parallel()
	tx := inTransaction(t)
	exec(t, tx, `insert into queen.kv (namespace, key, value, version, expires_at, updated_at) values
		('many', 'Z', '{"a": [1, null]}', 5, null, '2026-01-02 03:04:05.6Z'),
		('many', 'a', '"\u00e9"', 6, '9000-01-01Z', '2026-01-02Z'),
		('many', 'n', 'null', 6, null, '2026-01-02Z'),
		('many', 'L', to_jsonb((select string_agg(md5(n::text), '') from generate_series(1, 1000) as n)), 6, null, '2026-01-02Z'),
		('many', 'z', 'null', 7, '2026-01-01Z', '2026-01-01Z'),
		('many', 'é', 'false', 8, null, '2026-01-02Z'),
		('other', 'b', '1', 9, null, '2026-01-02Z')`)
	exec(t, tx, `insert into queen.kv (tenant_id, namespace, key, value) values
		(gen_random_uuid(), 'many', 'b', '1'), (gen_random_uuid(), 'many', 'a', '2')`)
	for _, c := range []struct{ asked, rows, missing string }{
		{"a", "a", ""},
		{"é a Z", "Z a é", ""},
		{"a a Z a Z", "Z a", ""},
		{"z b a c", "a", "z b c"},
		{"c a b c b a", "a", "c b"},
		{"c b c", "", "c b"},
	} {
		answer := getMany(t, tx, strings.Fields(c.asked))
		var rows []string
		for _, row := range answer.Rows {
			rows = append(rows, row.Key)
		}
		if !slices.Equal(rows, strings.Fields(c.rows)) || !slices.Equal(answer.Missing, strings.Fields(c.missing)) || answer.Truncated {
			t.Errorf("%s: rows %v, missing %v, truncated %t; want %s, %s", c.asked, rows, answer.Missing, answer.Truncated, c.rows, c.missing)
		}
	}
	row := getMany(t, tx, []string{"Z"}).Rows[0]
	if string(row.Value) != `{"a": [1, null]}` || row.Version != 5 || row.ExpiresAt != nil || row.UpdatedAt != "2026-01-02T03:04:05.600000Z" {
		t.Errorf("got %+v with value %s", row, row.Value)
	}
	both := getMany(t, tx, []string{"n", "L"}) // L has 32,000 bytes, out of line
	if len(both.Rows) != 2 || len(both.Rows[0].Value) != 32002 || string(both.Rows[1].Value) != "null" {
		t.Errorf("got %.100v; want the large value and null", both.Rows)
	}
	if at := getMany(t, tx, []string{"a"}).Rows[0].ExpiresAt; at == nil || *at != "9000-01-01T00:00:00.000000Z" {
		t.Errorf("expiresAt %v, want 9000-01-01T00:00:00.000000Z", at)
	}
}
