package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/bench/internal/report"
	"github.com/queenkv/queenkv/bench/internal/server"
	"github.com/queenkv/queenkv/kvpg"
)

const (
	tableRows = 20000 // in queen.kv when a pair begins
	block     = 100   // calls of one side in a row
)

var orders = kvpg.NewNamespace("bench")

// order is a value of about 120 bytes.
type order struct {
	State    string `json:"state"`
	Amount   int    `json:"amount"`
	Currency string `json:"currency"`
	Customer string `json:"customer"`
	Note     string `json:"note"`
}

// A call is one line: the driver's call number i, and the same by hand.
type call struct {
	title          string
	aim            float64 // the most that the driver's time may be of the time by hand; 0: none was set
	byHand, driver func(ctx context.Context, conn *pgx.Conn, i int) error
}

// arguments are those of the calls by hand, made before anything is timed.
type arguments struct{ keys, ops []string }

func newArguments() (a arguments, err error) {
	for i := range 5000 {
		key := fmt.Sprintf("order-%012d", i)
		ops, err := json.Marshal([]any{map[string]any{
			"op": "put", "ns": orders.Name(), "key": key, "ttlMs": time.Hour.Milliseconds(), "value": value(i)}})
		if err != nil {
			return a, err
		}
		a.keys, a.ops = append(a.keys, key), append(a.ops, string(ops))
	}
	return a, nil
}

func value(i int) order {
	return order{"sent", 200 + i, "EUR", "customer-" + strconv.Itoa(i%500), strings.Repeat("n", 32)}
}

// applySQL and getSQL are the driver's own statements.
const (
	applySQL = `select queen.kv_apply_v1($1::jsonb, $2::uuid)::text`
	getSQL   = `select value::text, version,
       (extract(epoch from expires_at) * 1000000)::bigint,
       (extract(epoch from updated_at) * 1000000)::bigint
  from queen.kv_get_v1($1::text, $2::text, $3::uuid, null)`
	tenant = "00000000-0000-0000-0000-000000000001"
)

func calls(a arguments) []call {
	put := func(ctx context.Context, conn *pgx.Conn, i int) error {
		i %= len(a.keys)
		v, err := kvpg.Put(ctx, conn, orders, a.keys[i], value(i), kvpg.TTL(time.Hour), nil)
		if err == nil && !v.Applied {
			err = errors.New("the put did not apply")
		}
		return err
	}
	bare := func(ctx context.Context, conn *pgx.Conn, i int) error {
		var answer string
		return conn.QueryRow(ctx, applySQL, a.ops[i%len(a.ops)], tenant).Scan(&answer)
	}
	whole := func(ctx context.Context, conn *pgx.Conn, i int) error {
		i %= len(a.keys)
		ops, err := json.Marshal([]any{map[string]any{
			"op": "put", "ns": "bench", "key": a.keys[i], "ttlMs": 3600000, "value": value(i)}})
		if err != nil {
			return err
		}
		var answer string
		if err := conn.QueryRow(ctx, applySQL, string(ops), tenant).Scan(&answer); err != nil {
			return err
		}
		var results []struct {
			Applied bool
			Version int64
		}
		if err := json.Unmarshal([]byte(answer), &results); err != nil {
			return err
		}
		if !results[0].Applied {
			return errors.New("the put did not apply")
		}
		return nil
	}
	get := func(ctx context.Context, conn *pgx.Conn, i int) error {
		_, ok, err := kvpg.Get(ctx, conn, orders, a.keys[i%len(a.keys)])
		if err == nil && !ok {
			err = errors.New("the key is not there")
		}
		return err
	}
	getByHand := func(ctx context.Context, conn *pgx.Conn, i int) error {
		var value string
		var version, updated int64
		var expires *int64
		return conn.QueryRow(ctx, getSQL, "bench", a.keys[i%len(a.keys)], tenant).Scan(&value, &version, &expires, &updated)
	}
	return []call{
		{"Put; by hand the ops are made by encoding/json and two fields of the answer read", 1.15, whole, put},
		{"Put; by hand the ops are ready and the answer is left as text", 0, bare, put},
		{"Get; by hand the same columns", 0, getByHand, get},
	}
}

const callsHead = `
| | by hand, µs | kvpg, µs | kvpg / by hand | least to most | aim | allocations by hand | kvpg | bytes by hand | kvpg |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

func measureCalls(ctx context.Context, s *server.Server, o options) (string, error) {
	url, err := s.SocketURL()
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	a, err := newArguments()
	if err != nil {
		return "", err
	}
	text := callsHead
	for _, c := range calls(a) {
		row, err := c.measure(ctx, s, conn, o)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.title, err)
		}
		text += row
	}
	return text, nil
}

func (c call) measure(ctx context.Context, s *server.Server, conn *pgx.Conn, o options) (string, error) {
	if err := c.check(ctx, s, conn); err != nil {
		return "", err
	}
	var byHand, driver, ratios []float64
	for pair := range o.pairs {
		if err := load(ctx, s); err != nil {
			return "", err
		}
		h, d, err := c.pair(ctx, conn, pair, time.Duration(o.seconds)*time.Second)
		if err != nil {
			return "", err
		}
		byHand, driver, ratios = append(byHand, h), append(driver, d), append(ratios, d/h)
	}
	handCount, handBytes, err := allocations(ctx, conn, c.byHand)
	if err != nil {
		return "", err
	}
	count, bytes, err := allocations(ctx, conn, c.driver)
	if err != nil {
		return "", err
	}
	aim, ratio := "", report.Median(ratios)
	if c.aim > 0 {
		aim = fmt.Sprintf("≤ %.2f", c.aim)
		if ratio > c.aim {
			aim += " (missed)"
		}
	}
	return fmt.Sprintf("| %s | %.1f | %.1f | %.2f | %.2f to %.2f | %s | %.0f | %.0f | %.0f | %.0f |\n", c.title, report.Median(byHand),
		report.Median(driver), ratio, slices.Min(ratios), slices.Max(ratios), aim, handCount, count, handBytes, bytes), nil
}

// load puts the table into the state in which every pair begins.
func load(ctx context.Context, s *server.Server) error {
	return s.Exec(ctx, `truncate queen.kv`,
		fmt.Sprintf(`insert into queen.kv (namespace, key, value, expires_at)
			select 'bench', 'order-' || lpad(i::text, 12, '0'), to_jsonb(repeat('v', 120)), clock_timestamp() + interval '2 hours'
			from generate_series(0, %d) as i`, tableRows-1),
		`vacuum (analyze) queen.kv`, `checkpoint`)
}

// pair runs both sides for about so long, in turns, and returns microseconds a call. An odd pair begins with the driver.
func (c call) pair(ctx context.Context, conn *pgx.Conn, number int, length time.Duration) (byHand, driver float64, err error) {
	sides := []func(context.Context, *pgx.Conn, int) error{c.byHand, c.driver}
	var spent [2]time.Duration
	n := 0
	for ; spent[0]+spent[1] < 2*length; n += block {
		for turn := range 2 {
			side := (turn + number) % 2
			began := time.Now()
			for i := n; i < n+block; i++ {
				if err := sides[side](ctx, conn, i); err != nil {
					return 0, 0, err
				}
			}
			spent[side] += time.Since(began)
		}
	}
	return micros(spent[0], n), micros(spent[1], n), nil
}

func micros(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }

// allocations counts what a call allocates in this process, on a connection that knows the statement.
func allocations(ctx context.Context, conn *pgx.Conn, f func(context.Context, *pgx.Conn, int) error) (count, bytes float64, err error) {
	const n = 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range n {
		if err := f(ctx, conn, i); err != nil {
			return 0, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n, nil
}

// check fails unless both sides leave the same rows: a ratio of different work would say nothing.
func (c call) check(ctx context.Context, s *server.Server, conn *pgx.Conn) error {
	var left [2]string
	for side, f := range []func(context.Context, *pgx.Conn, int) error{c.byHand, c.driver} {
		if err := load(ctx, s); err != nil {
			return err
		}
		for i := range 20 {
			if err := f(ctx, conn, i); err != nil {
				return err
			}
		}
		err := s.Conn.QueryRow(ctx, `select md5(string_agg(concat_ws(' ', key, value), e'\n' order by key)) from queen.kv`).Scan(&left[side])
		if err != nil {
			return err
		}
	}
	if left[0] != left[1] {
		return errors.New("the sides leave different rows")
	}
	return nil
}
