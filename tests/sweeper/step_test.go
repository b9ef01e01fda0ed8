package sweeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A step is what kv_expire_step_v1 answers.
type step struct {
	Deleted        int
	Done           bool
	Unpruned       int
	UnprunedCapped bool
	LagMs          int64
	Now            string
	NextFrom       *string
}

func (s step) String() string {
	from := "null"
	if s.NextFrom != nil {
		from = *s.NextFrom
	}
	return fmt.Sprintf("deleted %d, done %v, unpruned %d (capped %v), lagMs %d, nextFrom %s", s.Deleted, s.Done, s.Unpruned, s.UnprunedCapped, s.LagMs, from)
}

const allShards = "(select array_agg(s::smallint) from generate_series(0, 63) as s)"

// noon is the p_now of the steps here.
const noon = "2030-01-01 12:00:00+00"

// expire makes one step over all shards at noon.
func expire(t testing.TB, q querier, maxRows int, from *string) step {
	t.Helper()
	s, err := tryExpire(t.Context(), q, maxRows, from)
	must(t, err)
	return s
}

func tryExpire(ctx context.Context, q querier, maxRows int, from *string) (s step, err error) {
	var text string
	err = q.QueryRow(ctx, "select queen.kv_expire_step_v1("+allShards+", $1, $2, $3)::text", noon, maxRows, from).Scan(&text)
	if err == nil {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&s)
	}
	return s, err
}

// pass makes steps from NULL to the end of a pass, and calls each after each of them that is followed by another.
func pass(t testing.TB, q querier, maxRows int, each ...func(step)) (steps []step) {
	t.Helper()
	for from := (*string)(nil); ; {
		s := expire(t, q, maxRows, from)
		steps = append(steps, s)
		if s.NextFrom == nil {
			return steps
		}
		if len(steps) > 10000 {
			t.Fatalf("ten thousand steps, and no end: %v", s)
		}
		for _, look := range each {
			look(s)
		}
		from = s.NextFrom
	}
}

func deleted(steps []step) (n int) {
	for _, s := range steps {
		n += s.Deleted
	}
	return n
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exec(t testing.TB, q querier, sql string, args ...any) {
	t.Helper()
	if _, err := q.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
}

func value[T any](t testing.TB, q querier, sql string, args ...any) (v T) {
	t.Helper()
	if err := q.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
	return v
}

// insert makes rows key<from> to key<to> of namespace n, the i-th expiring at this expression of i.
func insert(t testing.TB, q querier, from, to int, expiresAt string) {
	t.Helper()
	exec(t, q, fmt.Sprintf(`insert into queen.kv (namespace, key, value, expires_at)
		select 'n', 'key' || i, to_jsonb(i), %s from generate_series(%d, %d) as i`, expiresAt, from, to))
}

func rows(t testing.TB, q querier) int {
	t.Helper()
	return value[int](t, q, "select count(*) from queen.kv")
}

// sqlState is the SQLSTATE and MESSAGE of an error.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code + " " + pg.Message
	}
	return fmt.Sprint(err)
}

// At the boundary a row is dead for readers and goes; a microsecond later it is alive for both. Rows for ever are none of the
// sweeper's business.
func TestBoundary(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	at, _ := time.Parse("2006-01-02 15:04:05-07", noon)
	for i, offset := range []time.Duration{-time.Hour, -time.Microsecond, 0, time.Microsecond, time.Hour} {
		exec(t, conn, "insert into queen.kv (namespace, key, value, expires_at) values ('n', $1, '1', $2)", fmt.Sprint("k", i), at.Add(offset))
	}
	insert(t, conn, 1, 100, "null")
	for _, c := range []struct {
		key  string
		live bool
	}{{"k0", false}, {"k1", false}, {"k2", false}, {"k3", true}, {"k4", true}, {"key1", true}} {
		if got := value[bool](t, conn, "select exists (select from queen.kv_get_v1('n', $1, p_now => $2::text::timestamptz))", c.key, noon); got != c.live {
			t.Errorf("a reader finds %s: %v, want %v", c.key, got, c.live)
		}
	}
	if s := expire(t, conn, 1000, nil); s.Deleted != 3 || !s.Done || s.Unpruned != 0 || s.UnprunedCapped || s.LagMs != 0 || s.NextFrom != nil || s.Now != "2030-01-01T12:00:00.000000Z" {
		t.Errorf("%v, want 3 deleted, done, and nothing left", s)
	}
	if left := value[string](t, conn, `select string_agg(key, ' ' order by key) from queen.kv where expires_at is not null`); left != "k3 k4" {
		t.Errorf("%q are left, want those that are alive", left)
	}
	if n := rows(t, conn); n != 102 {
		t.Errorf("%d rows are left, want the 100 for ever and the 2 that are alive", n)
	}
}

// A step deletes what it was allowed to at most, the oldest first whatever shard they are in, and the loop ends. Each step tells
// how much is left, and how old that is.
func TestOldestFirst(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	const n = 1000
	insert(t, conn, 1, n, fmt.Sprintf("timestamptz '%s' - i * interval '1 second'", noon)) // key1000 is the oldest
	left, last := n, ""
	for from, i := (*string)(nil), 0; ; i++ {
		s := expire(t, conn, 100, from)
		left -= s.Deleted
		if s.Deleted < 50 && left > 0 || s.Deleted > 100 {
			t.Errorf("step %d: %v, of 100 allowed and %d that were there", i, s, left+s.Deleted)
		}
		if got := value[string](t, conn, "select coalesce(string_agg(distinct (key <> 'key' || value::text or value::int > $1)::text, ''), 'false') from queen.kv", left); got != "false" {
			t.Errorf("step %d: not the oldest rows went first", i)
		}
		if rows(t, conn) != left {
			t.Fatalf("step %d says that %d rows are left, there are %d", i, left, rows(t, conn))
		}
		if s.NextFrom == nil {
			if left != 0 || s.Done || s.Unpruned != 0 || s.LagMs != 0 {
				t.Errorf("%v at the end of a pass, with %d rows left; only a pass from NULL says done", s, left)
			}
			break
		}
		if s.Unpruned < 1 || s.Unpruned > left || !s.UnprunedCapped && s.Unpruned != left || s.LagMs != int64(left)*1000 {
			t.Errorf("step %d: %v, with %d rows left, the oldest %d s old", i, s, left, left)
		}
		if *s.NextFrom <= last {
			t.Errorf("step %d: nextFrom %s after %s", i, *s.NextFrom, last)
		}
		last, from = *s.NextFrom, s.NextFrom
	}
	if s := expire(t, conn, 100, nil); s.Deleted != 0 || !s.Done {
		t.Errorf("%v, want done", s)
	}
}

// Nothing is to be done before nextFrom: it is not after any expired row that nobody holds, not even where a few shards have so many
// rows that a step has no room for those of the others; and lagMs is that of the oldest row that is left.
func TestNothingBeforeNextFrom(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	const n = 64_000
	insert(t, conn, 1, n, `timestamptz '2030-01-01 10:00:00+00'
		+ i * interval '1 millisecond' / case when hashtextextended('key' || i, 0) & 63 < 8 then 10 else 1 end`)
	steps := pass(t, conn, 1000, func(s step) {
		if before := value[int](t, conn, "select count(*) from queen.kv where expires_at < $1::text::timestamptz", *s.NextFrom); before > 0 {
			t.Fatalf("%v, but %d rows expired before that and are there", s, before)
		}
		if want := value[int64](t, conn, "select floor(extract(epoch from $1::text::timestamptz - min(expires_at)) * 1000) from queen.kv", noon); s.LagMs != want {
			t.Fatalf("%v, want lagMs %d of the oldest row that is left", s, want)
		}
	})
	if deleted(steps) != n || rows(t, conn) != 0 {
		t.Errorf("a pass from the beginning deletes %d rows and leaves %d, want %d and none", deleted(steps), rows(t, conn), n)
	}
}

// Rows that expire in one microsecond, as those of one INSERT may, are served in shares: no shard is left behind.
func TestOneMicrosecond(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	insert(t, conn, 1, 6400, "timestamptz '2030-01-01 10:00:00+00'")
	exec(t, conn, "create temp table before as select shard, count(*) as n from queen.kv group by shard")
	s := expire(t, conn, 640, nil)
	if s.Deleted != 640 || s.NextFrom == nil || *s.NextFrom != "2030-01-01T10:00:00.000000Z" || s.LagMs != 2*3600*1000 {
		t.Errorf("%v, want 640 deleted of one microsecond two hours ago", s)
	}
	if n := value[int](t, conn, `select count(*) from before as b
		where b.n - (select count(*) from queen.kv where kv.shard = b.shard) <> 10`); n != 0 {
		t.Errorf("%d shards have not given their 10 of 640 rows", n)
	}
	if n := deleted(pass(t, conn, 640)); n != 6400-640 {
		t.Errorf("%d were deleted after that, want all the others", n)
	}
	if s := expire(t, conn, 640, nil); !s.Done {
		t.Errorf("%v, want done", s)
	}
}

// All rows in one shard, of 64 that are asked for: a step takes what it may all the same.
func TestOneShard(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	exec(t, conn, `insert into queen.kv (namespace, key, value, expires_at)
		select 'n', k, '1', timestamptz '2030-01-01 10:00:00+00' + i * interval '1 millisecond'
		from (select 'key' || g as k, g as i from generate_series(1, 64000) as g) as k where hashtextextended(k, 0) & 63 = 5`)
	n := rows(t, conn)
	if s := expire(t, conn, 500, nil); s.Deleted < 250 || s.Deleted > 500 || s.Done || s.NextFrom == nil || s.Unpruned == 0 {
		t.Errorf("%v, of 500 allowed and %d in one shard, which has more", s, n)
	}
	var s step
	must(t, json.Unmarshal([]byte(value[string](t, conn, "select queen.kv_expire_step_v1('{1,2}', $1, 100)::text", noon)), &s))
	if s.Deleted != 0 || !s.Done {
		t.Errorf("%v of shards without a row, want nothing and done", s)
	}
	must(t, json.Unmarshal([]byte(value[string](t, conn, "select queen.kv_expire_step_v1('{5,5,5}', $1, 100)::text", noon)), &s))
	if s.Deleted != 100 || s.Done || s.NextFrom == nil || *s.NextFrom <= "2030-01-01T10:00:00" {
		t.Errorf("%v of a shard named thrice, want 100 deleted, which is all that was allowed", s)
	}
}

// Whatever would look healthy while expired rows stand is refused, and so is what is no instant.
func TestStepArguments(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	insert(t, conn, 1, 10, "timestamptz '2030-01-01 10:00:00+00'")
	for args, problem := range map[string]string{
		"null, $1, 10":                       "p_shards",
		"'{}', $1, 10":                       "p_shards",
		"'{64}', $1, 10":                     "shard",
		"'{-1}', $1, 10":                     "shard",
		"'{1,null}', $1, 10":                 "shard",
		"'{null}', $1, 10":                   "shard",
		"'{1}', $1, 0":                       "p_max_rows",
		"'{1}', $1, -5":                      "p_max_rows",
		"'{1}', $1, null":                    "p_max_rows",
		"'{1}', $1, 1000001":                 "p_max_rows",
		"'{1}', 'infinity', 10":              "p_now",
		"'{1}', '-infinity', 10":             "p_now",
		"'{1}', '9900-01-01Z', 10":           "p_now",
		"'{1}', $1, 10, 'infinity'":          "p_from",
		"'{1}', $1, 10, '-infinity'":         "p_from",
		"'{1}', $1, 10, '0001-01-01 BC'":     "p_from",
		"'{1}', $1, 10, '10000-01-01 00:0Z'": "p_from",
	} {
		_, err := conn.Exec(t.Context(), "select queen.kv_expire_step_v1("+args+"), $1::text::timestamptz", noon)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "22023" || pg.Message != "kv_bad_request" || !strings.Contains(pg.Detail, problem) || !json.Valid([]byte(pg.Detail)) {
			t.Errorf("%s: %v, want kv_bad_request about %s", args, err, problem)
		}
	}
	if n := rows(t, conn); n != 10 {
		t.Errorf("refused calls have left %d of 10 rows", n)
	}
	// p_now NULL is the clock; a p_from of the future finds nothing, and doesn't say that nothing is there.
	insert(t, conn, 11, 20, "clock_timestamp() - interval '1 second'")
	var s step
	must(t, json.Unmarshal([]byte(value[string](t, conn, "select queen.kv_expire_step_v1("+allShards+", $1, 10, '2031-01-01Z')::text", noon)), &s))
	if s.Deleted != 0 || s.Done || s.NextFrom != nil {
		t.Errorf("%v from beyond now, want nothing, and not done", s)
	}
	must(t, json.Unmarshal([]byte(value[string](t, conn, "select queen.kv_expire_step_v1("+allShards+", null, 100)::text")), &s))
	if s.Deleted != 10 || !s.Done {
		t.Errorf("%v by the clock, want the 10 that have expired by it", s)
	}
}
