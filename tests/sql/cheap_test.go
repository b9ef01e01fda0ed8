package sql

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

// Much output from little input is refused before it is made: within a generous second
// of the processor, and a few MiB above what reading the JSON takes.
func TestExpandingNumbers(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	numbers := func(n int, number string) string { return "[" + strings.Repeat(number+",", n-1) + number + "]" }
	for name, value := range map[string]string{
		"60,000 of 1e131071":             numbers(60000, "1e131071"),
		"21,000 of 1e131071":             numbers(21000, "1e131071"), // binary, not too large
		"7,000 of 1e131071":              numbers(7000, "1e131071"),
		"21,000 of 1e-16383":             numbers(21000, "1e-16383"),
		"21,000 of 0e-16383":             numbers(21000, "0e-16383"),
		"150 of 1e131071":                numbers(150, "1e131071"),
		"20 of 1e131071":                 numbers(20, "1e131071"),
		"160 of 1e-16383":                numbers(160, "1e-16383"),
		"5,000 in objects":               numbers(5000, `{"a": 1e131071}`),
		"the same, nested 900 deep":      strings.Repeat("[", 900) + numbers(5000, "1e131071") + strings.Repeat("]", 900),
		"one of 131,072 digits":          "1e131071",
		"one digit, 16,383 decimals x 5": numbers(5, "1."+strings.Repeat("0", 16382)),
	} {
		t.Run(name, func(t *testing.T) { refusedCheaply(t, db, putOf(value), "kv_value_too_large") })
	}
}

// The same where it is no value: nothing but a string may be taken as text.
func TestExpandingNumbersOutsideTheValue(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	big := "[" + strings.Repeat("1e131071,", 20999) + "1e131071]"
	for where, c := range map[string]struct{ op, code string }{
		"the op":       {big, "kv_bad_request"},
		"op":           {`{"op": ` + big + `}`, "kv_bad_request"},
		"ns":           {`{"op": "get", "key": "k", "ns": ` + big + `}`, "kv_bad_namespace"},
		"key":          {`{"op": "get", "ns": "n", "key": ` + big + `}`, "kv_bad_key"},
		"keys":         {`{"op": "getMany", "ns": "n", "keys": ` + big + `}`, "kv_bad_key"},
		"in keys":      {`{"op": "getMany", "ns": "n", "keys": [` + big + `]}`, "kv_bad_key"},
		"prefix":       {`{"op": "getPrefix", "ns": "n", "prefix": ` + big + `}`, "kv_bad_request"},
		"after":        {`{"op": "getPrefix", "ns": "n", "prefix": "p", "after": ` + big + `}`, "kv_bad_request"},
		"limit":        {`{"op": "getPrefix", "ns": "n", "prefix": "p", "limit": ` + big + `}`, "kv_bad_request"},
		"keysOnly":     {`{"op": "getPrefix", "ns": "n", "prefix": "p", "keysOnly": ` + big + `}`, "kv_bad_request"},
		"ttlMs":        {`{"op": "touch", "ns": "n", "key": "k", "ttlMs": ` + big + `}`, "kv_bad_ttl"},
		"forever":      {`{"op": "touch", "ns": "n", "key": "k", "forever": ` + big + `}`, "kv_bad_request"},
		"expect":       {`{"op": "delete", "ns": "n", "key": "k", "expect": ` + big + `}`, "kv_bad_expect"},
		"required":     {`{"op": "delete", "ns": "n", "key": "k", "required": ` + big + `}`, "kv_bad_request"},
		"delta":        {`{"op": "incr", "ns": "n", "key": "k", "forever": true, "delta": ` + big + `}`, "kv_bad_request"},
		"no known one": {`{"op": "get", "ns": "n", "key": "k", "x": ` + big + `}`, "kv_unknown_field"},
	} {
		t.Run(where, func(t *testing.T) { refusedCheaply(t, db, "["+c.op+"]", c.code) })
	}
}

// The deepest JSON that the server takes, in every place of an op where JSON can be.
func TestDeepestNesting(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	conn := db.Conn(t)
	for name, c := range map[string]struct{ before, open, inner, end, after, code string }{
		"value, arrays":    {`[{"op": "put", "ns": "n", "key": "k", "forever": true, "value": `, "[", "", "]", "}]", "kv_bad_request"},
		"value, objects":   {`[{"op": "put", "ns": "n", "key": "k", "forever": true, "value": `, `{"a":`, "1", "}", "}]", "kv_bad_request"},
		"value, and wide":  {`[{"op": "put", "ns": "n", "key": "k", "forever": true, "value": [` + strings.Repeat("0, ", 9999), "[", "", "]", "]}]", "kv_bad_request"},
		"key":              {`[{"op": "get", "ns": "n", "key": `, "[", "", "]", "}]", "kv_bad_key"},
		"keys":             {`[{"op": "getMany", "ns": "n", "keys": [`, "[", "", "]", "]}]", "kv_bad_key"},
		"an op":            {"[", "[", "", "]", "]", "kv_bad_request"},
		"an op's name":     {`[{"op": `, "[", "", "]", "}]", "kv_bad_request"},
		"an unknown field": {`[{"op": "get", "ns": "n", "key": "k", "x": `, `{"a":`, "1", "}", "}]", "kv_unknown_field"},
		"delta":            {`[{"op": "incr", "ns": "n", "key": "k", "forever": true, "delta": `, "[", "", "]", "}]", "kv_bad_request"},
		"beside good ops":  {"[" + put("a") + ", " + put("b") + `, {"op": "put", "ns": "n", "key": "k", "forever": true, "value": `, "[", "", "]", "}]", "kv_bad_request"},
		"no array":         {"", `{"a":`, "1", "}", "", "kv_bad_request"},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(depth int) string {
				return c.before + strings.Repeat(c.open, depth) + c.inner + strings.Repeat(c.end, depth) + c.after
			}
			deepest := deepestTaken(t, conn, at)
			if deepest < 1500 {
				t.Fatalf("the server takes only %d levels: nothing to test", deepest)
			}
			t.Logf("%d levels", deepest)
			for _, depth := range []int{1500, deepest - 100, deepest - 1, deepest} {
				refusedCheaply(t, db, at(depth), c.code)
			}
		})
	}
	if n := rowCount(t, conn); n != 0 {
		t.Errorf("the refused calls have written %d rows", n)
	}
}

func putOf(value string) string {
	return `[{"op": "put", "ns": "n", "key": "k", "forever": true, "value": ` + value + "}]"
}

// deepestTaken is the most levels that the server reads as jsonb.
func deepestTaken(t *testing.T, conn *pgx.Conn, at func(depth int) string) int {
	t.Helper()
	good, bad := 1000, 200000
	for good+1 < bad {
		middle := (good + bad) / 2
		var isNull bool
		if err := conn.QueryRow(t.Context(), "select $1::jsonb is null", at(middle)).Scan(&isNull); err == nil {
			good = middle
		} else if code := failure(err); strings.HasPrefix(code, "54001") {
			bad = middle
		} else {
			t.Fatal(code)
		}
	}
	return good
}

const (
	cpuBound    = time.Second      // takes milliseconds; counted in hundredths of a second
	timeBound   = 20 * time.Second // on the clock, however busy the machine is
	memoryBound = 12 << 10         // KiB above what reading the JSON took
)

// refusedCheaply makes a call in a session of its own, which must be refused with the code.
func refusedCheaply(t *testing.T, db *testdb.DB, ops, code string) {
	t.Helper()
	conn := db.Conn(t, func(cfg *pgx.ConnConfig) {
		cfg.RuntimeParams["statement_timeout"] = strconv.FormatInt(timeBound.Milliseconds(), 10)
		cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	})
	defer conn.Close(t.Context())
	_ = call(t.Context(), conn, "[5]") // plans are made and catalogs read
	var read bool
	scan(t, conn, "select $1::jsonb is not null", []any{ops}, &read)
	before, local := usageOf(conn.PgConn().PID())
	start := time.Now()
	r, form := refusedWith(call(t.Context(), conn, ops))
	took := time.Since(start)
	after, _ := usageOf(conn.PgConn().PID())
	if form != "" {
		t.Fatal(form)
	}
	if r.code != code {
		t.Errorf("%s (%.200s), want %s", r.code, r.detail, code)
	}
	usage := "its usage is not measured: the server is on another machine"
	if local {
		cpu, memory := after.cpu-before.cpu, after.peakKiB-before.peakKiB
		usage = fmt.Sprintf("%v of them on the processor, %d KiB more than reading it", cpu, memory)
		if cpu > cpuBound || memory > memoryBound {
			t.Errorf("took %s", usage)
		}
	}
	t.Logf("refused %d KiB in %v, %s", len(ops)>>10, took.Round(100*time.Microsecond), usage)
}

// What a server elsewhere uses isn't seen from here.
func TestUsageIsMeasured(t *testing.T) {
	t.Parallel()
	if _, ok := usageOf(testdb.New(t, nil).Conn(t).PgConn().PID()); !ok {
		testdb.NotRun(t, "the processor time and memory that refused calls take: the server is not a process of this machine")
	}
}

// usage is what a process has used so far.
type usage struct {
	peakKiB int // the most memory it has held
	cpu     time.Duration
}

// usageOf reads a process's usage; ok tells whether pid is a PostgreSQL of this machine.
func usageOf(pid uint32) (u usage, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	stat, errStat := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || errStat != nil || !strings.HasPrefix(string(status), "Name:\tpostgres") {
		return u, false
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			u.peakKiB, err = strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	// The name, in parentheses, may hold blanks; utime and stime are the 14th and 15th field.
	_, afterName, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(afterName)
	if err != nil || len(fields) < 13 {
		return u, false
	}
	for _, ticks := range fields[11:13] {
		n, err := strconv.Atoi(ticks)
		if err != nil {
			return u, false
		}
		u.cpu += time.Duration(n) * 10 * time.Millisecond // Linux counts a hundred a second
	}
	return u, true
}
