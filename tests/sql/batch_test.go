package sql

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

const batches = 1200

// A call of plain puts of several keys is taken as one statement in READ COMMITTED. Random
// batches are played twice, that way and through the general path (in REPEATABLE READ, where
// the other isn't taken): answers and rows must be the same but for the versions.
func TestPutBatchIsTheGeneralPath(t *testing.T) {
	t.Parallel()
	const seed = 20261130
	random := rand.New(rand.NewPCG(seed, 1))
	one, general := testdb.New(t, nil).Conn(t), testdb.New(t, nil).Conn(t)
	taken := map[bool]int{}
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range batches {
		// So that some of the rows that are met have expired, some at this very instant.
		now = now.Add(time.Duration(random.IntN(4)) * time.Second)
		at := now.Format(time.RFC3339Nano)
		ops := randomPuts(random)
		inBatch, answer, rows := playPuts(t, one, "read committed", ops, at)
		inGeneral, wantAnswer, wantRows := playPuts(t, general, "repeatable read", ops, at)
		taken[inBatch]++
		if inGeneral {
			t.Fatal("the general path was not taken where it must be")
		}
		if answer != wantAnswer {
			t.Fatalf("batch %d of seed %d, at %s: %s\n  one statement  %s\n  the general path %s", i, seed, at, ops, answer, wantAnswer)
		}
		if rows != wantRows {
			t.Fatalf("rows after batch %d of seed %d, at %s: %s\n  one statement  %s\n  the general path %s", i, seed, at, ops, rows, wantRows)
		}
	}
	t.Logf("%d of %d batches took the path of one statement", taken[true], batches)
	if taken[true] < 1000 {
		t.Errorf("only %d of %d batches took the path of one statement, want 1,000", taken[true], batches)
	}
}

// randomPuts are 2 to 12 puts; in one of twenty calls a key comes twice, which the path of one
// statement doesn't take.
func randomPuts(random *rand.Rand) string {
	namespaces, values := []string{"n", "n", "m", "n.2"}, []string{"1", "null", `"text"`, `{"b": 1, "a": [1.50, null]}`, "[]", "1e20", `"\u0001é😀"`, "false"}
	keys := []string{"a", "b", "B", "a/b", "ä", "\U0010FFFF", "\uD7FF", "k 1", "k:2", "%", "_", `\`, `"`, strings.Repeat("k", 2048)}
	expiries := []string{`"forever": true`, `"ttlSeconds": 1`, `"ttlSeconds": 3.0`, `"ttlMs": 2500`, `"ttlMs": 86400000, "forever": false`}
	repeated := random.IntN(20) == 0
	var ops []string
	seen := map[string]bool{}
	for n := 2 + random.IntN(11); len(ops) < n; {
		ns, key := namespaces[random.IntN(len(namespaces))], keys[random.IntN(len(keys))]
		if seen[ns+"/"+key] && !repeated {
			continue
		}
		seen[ns+"/"+key] = true
		op := fmt.Sprintf(`{"op": "put", "ns": %q, "key": %s, "value": %s, %s`, ns, quoteJSON(key), values[random.IntN(len(values))],
			expiries[random.IntN(len(expiries))])
		if random.IntN(5) == 0 {
			op += `, "required": true`
		}
		ops = append(ops, op+"}")
	}
	return "[" + strings.Join(ops, ", ") + "]"
}

// playPuts makes the call at an isolation level, and tells whether it went as one statement, its
// answer and the table's rows, both without versions.
func playPuts(t *testing.T, conn *pgx.Conn, isolation pgx.TxIsoLevel, ops, at string) (inBatch bool, answer, rows string) {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: isolation})
	must(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	scan(t, tx, "select (queen.kv_plan_v1($1::jsonb, false)).is_put_batch", []any{ops}, &inBatch)
	scan(t, tx, `select jsonb_agg(r.result - 'version' order by r.position)::text
		from jsonb_array_elements(queen.kv_apply_v1($1::jsonb, p_now => $2::timestamptz)) with ordinality as r (result, position)`,
		[]any{ops, at}, &answer)
	scan(t, tx, `select coalesce(string_agg(concat_ws('|', namespace, key, value, queen.kv_time_v1(expires_at), queen.kv_time_v1(created_at),
			queen.kv_time_v1(updated_at), shard), e'\n' order by namespace, key), '') from queen.kv`, nil, &rows)
	must(t, tx.Commit(t.Context()))
	return inBatch, answer, rows
}

func quoteJSON(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// A put with expect beside another put keeps its precondition: such a call is not taken as one statement.
func TestExpectBesideOtherPuts(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	must(t, call(t.Context(), conn, "["+put("b")+"]"))
	ops := `[{"op": "put", "ns": "n", "key": "b", "value": 2, "forever": true, "expect": 0}, ` + put("a") + `]`
	var reason, value string
	scan(t, conn, "select queen.kv_apply_v1($1::jsonb) -> 0 ->> 'reason'", []any{ops}, &reason)
	scan(t, conn, "select value::text from queen.kv where key = 'b'", nil, &value)
	if reason != "exists" || value == "2" {
		t.Errorf("reason %q, and the row then holds %s: want exists, and the row as it was", reason, value)
	}
}

// The versions that the path of one statement answers are those of the rows, each its own.
func TestPutBatchVersions(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ops := "[" + put("c") + ", " + put("a") + ", " + put("b") + "]"
	for range 2 { // new rows, then rows that are there
		var inBatch bool
		scan(t, conn, "select (queen.kv_plan_v1($1::jsonb, false)).is_put_batch", []any{ops}, &inBatch)
		if !inBatch {
			t.Fatal("not taken as one statement")
		}
		answer := evaluate(t.Context(), conn, "queen.kv_apply_v1($1::jsonb)", ops)
		var matching, distinct int
		scan(t, conn, `select count(*), count(distinct kv.version)
			from jsonb_array_elements($1::jsonb) as r join queen.kv on kv.key = r ->> 'key' and kv.version = (r -> 'version')::bigint`,
			[]any{answer}, &matching, &distinct)
		if matching != 3 || distinct != 3 {
			t.Errorf("%d rows have the version they were told, %d versions: %s", matching, distinct, answer)
		}
	}
}
