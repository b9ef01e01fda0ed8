package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/queenkv/queenkv/tests/model"
	"github.com/queenkv/queenkv/tests/proof"
	"github.com/queenkv/queenkv/tests/testdb"
)

// patternCells are all that can happen to the patterns: what each of them answers over a key in which state.
func patternCells() map[model.Event]bool {
	all := map[model.Event]bool{}
	for _, line := range [][]string{
		{"limiter", "allowed", "absent", "expired", "live"},
		{"limiter", "limit", "absent", "expired", "live"},
		{"limiter", "type", "other type"},
		{"limiter", "asks, allowed", "absent", "expired", "live"},
		{"limiter", "asks, limit", "live"},
		{"limiter", "asks, type", "other type"},
		{"acquire", "acquired", "absent", "expired"},
		{"acquire", "refused", "live", "other type"},
		{"renew", "held", "live", "other type"},
		{"renew", "lost", "absent", "expired", "live", "other type"},
		{"guard", "held", "live", "other type"},
		{"guard", "lost", "absent", "expired", "live", "other type"},
		{"release", "held", "live", "other type"},
		{"release", "lost", "absent", "expired", "live", "other type"},
		{"dedupe", "new", "absent", "expired"},
		{"dedupe", "seen", "live", "other type"},
		{"dedupe", "repeat", "live", "other type"},
	} {
		for _, state := range line[2:] {
			all[model.Event{Op: line[0], Outcome: line[1], State: state}] = true
		}
	}
	return all
}

// patternSQL gives an answer as JSON, times in microseconds.
var patternSQL = map[string]string{
	"limiter": `select coalesce(json_agg(json_build_array(allowed, reason, remaining, (extract(epoch from reset_at) * 1000000)::bigint)
		order by ordinality), '[]') from queen.kv_limiter_v1($1, $2, $3, $4, $5, $6, $7)`,
	"acquire": `select json_build_array(acquired, token, owner, (extract(epoch from expires_at) * 1000000)::bigint)
		from queen.kv_lease_acquire_v1($1, $2, $3, $4, $5, $6)`,
	"renew":   `select coalesce(to_json((extract(epoch from queen.kv_lease_renew_v1($1, $2, $3, $4, $5, $6)) * 1000000)::bigint), 'null')`,
	"guard":   `select coalesce(to_json((extract(epoch from queen.kv_lease_guard_v1($1, $2, $3, $4, $5)) * 1000000)::bigint), 'null')`,
	"release": `select to_json(queen.kv_lease_release_v1($1, $2, $3, $4, $5))`,
	"dedupe":  `select to_json(queen.kv_dedupe_v1($1, $2, $3, $4, $5))`,
}

const patternCalls = 2500 // at the least; a run that lacks a cell goes on, to twice as many

// Random histories of the patterns, among puts, increments, touches and deletes of the same keys, with a p_now that moves, give the
// model's answers and rows; and all that can happen, happens.
func TestPatternHistories(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.checks": strconv.Itoa(round)} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	s := connect(t, testdb.New(t, nil), model.Contract)
	sum := tally{events: map[model.Event]int{}}
	for sum.calls < patternCalls || len(sum.events) < len(patternCells()) && sum.calls < 2*patternCalls {
		rapid.Check(quiet{t, &sum.failure}, func(r *rapid.T) { playPatterns(t.Context(), r, s, &sum) })
		if t.Failed() {
			return
		}
	}
	can := patternCells()
	for e := range can {
		if sum.events[e] == 0 {
			t.Errorf("never happened: %v", e)
		}
	}
	for e := range sum.events {
		if !can[e] {
			t.Errorf("can't happen, by the table: %v", e)
		}
	}
	proof.Report(t, fmt.Sprintf("%d calls of limiter, lease and dedupe, %d cells", sum.calls, len(can)))
}

// A patternHistory is some calls of one tenant that nobody had before.
type patternHistory struct {
	t        *rapid.T
	store    *model.Store
	server   *server
	tokens   *tokens
	tenant   string
	now      model.Instant
	versions []model.Version // of the model's rows by now
	script   []string
	tally    *tally
}

func playPatterns(ctx context.Context, t *rapid.T, s *server, sum *tally) {
	h := &patternHistory{
		t: t, store: model.New(s.limits), server: s, tokens: newTokens(), tenant: tenant(), now: epoch, tally: sum,
	}
	steps := rapid.IntRange(1, 40).Draw(t, "calls")
	for range steps {
		h.now = h.instant()
		if rarely(t, 2, "op") {
			h.op(ctx)
		} else {
			h.step(ctx)
		}
		rows, err := s.state(ctx, []string{h.tenant})
		if err != nil {
			h.fail("the table can't be read: %v", err)
		}
		if diff := h.tokens.differentState(h.store, []string{h.tenant}, rows); diff != "" {
			h.fail("the table: %s", diff)
		}
		for _, row := range h.store.Rows(h.tenant) {
			if !slices.Contains(h.versions, row.Version) {
				h.versions = append(h.versions, row.Version)
			}
		}
		slices.Sort(h.versions)
	}
}

// fail says what is wrong, and shows the calls; its name must not vary, or rapid can't shrink it.
func (h *patternHistory) fail(format string, args ...any) {
	h.tally.failure = fmt.Sprintf(format, args...) + "\n\n" + strings.Join(h.script, "\n")
	h.t.Log(h.tally.failure)
	h.t.Fatal("the server and the model differ")
}

// instant is the next p_now: mostly the edge of some row's life, or a moment on, and at times before the last.
func (h *patternHistory) instant() model.Instant {
	edges := []model.Instant{h.now, h.now + 1, h.now + 500_000, h.now - 700_000}
	for _, row := range h.store.Rows(h.tenant) {
		if row.Expires != nil {
			edges = append(edges, *row.Expires, *row.Expires-1)
		}
	}
	slices.Sort(edges)
	return edges[rapid.IntRange(0, len(edges)-1).Draw(h.t, "now")]
}

func (h *patternHistory) key() string { return pick(h.t, "key", "a", "b", "B", "é", "a b") }

func (h *patternHistory) ms() int64 { return pick[int64](h.t, "ms", 1000, 500, 1) }

// keys are some, with repeats among them.
func (h *patternHistory) keys() []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "B", "é", "a b", "c"}), 0, 7).Draw(h.t, "keys")
}

// op changes a row by kv_apply_v1, so that the patterns meet more than what they wrote.
func (h *patternHistory) op(ctx context.Context) {
	op := map[string]any{"op": "delete", "ns": "n", "key": h.key()}
	switch rapid.IntRange(0, 3).Draw(h.t, "kind") {
	case 0:
		op["op"] = "put"
		op["value"] = pick[any](h.t, "value", num("2"), num("-1e36"), num("1.50"), "s", nil, []any{num("1.0")})
		op["ttlMs"] = num(strconv.FormatInt(h.ms(), 10))
		if rarely(h.t, 2, "forever") {
			delete(op, "ttlMs")
			op["forever"] = true
		}
	case 1:
		op["op"], op["delta"], op["ttlMs"] = "incr", pick[any](h.t, "delta", num("0.5"), num("-7")), num("1000")
	case 2:
		op["op"], op["ttlMs"] = "touch", num(strconv.FormatInt(h.ms(), 10))
	}
	c := model.Call{Ops: []any{op}, Tenant: h.tenant, Now: h.now}
	results, fault, _ := h.store.Apply(c)
	ops := render(c.Ops, func(model.Version) string { return "0" })
	h.script = append(h.script, fmt.Sprintf("%v kv_apply_v1 %s", h.now, ops))
	got, err := h.server.apply(ctx, ops, c)
	if err != nil {
		h.fail("the session ends: %v", err)
	}
	if diff := h.tokens.difference(h.server.limits, results, fault, got); diff != "" {
		h.fail("the last call gave %v\n%s", got, diff)
	}
}

// step draws a call of a pattern and makes it on both sides.
func (h *patternHistory) step(ctx context.Context) {
	var want any
	var events []model.Event
	var args []any
	name := pick(h.t, "pattern", "limiter", "dedupe", "acquire", "renew", "guard", "release")
	key, ms := h.key(), h.ms()
	switch name {
	case "limiter":
		keys, limit := h.keys(), pick[int64](h.t, "limit", 3, 1, 0, 2, 1<<63-1)
		var costs []int64
		if coin.Draw(h.t, "costs") {
			costs = make([]int64, len(keys))
			for i := range costs {
				costs[i] = pick[int64](h.t, "cost", 1, 0, 2, 3, 1<<63-1)
			}
		}
		want, events = h.store.Limit(h.tenant, "n", keys, costs, limit, ms, h.now)
		args = []any{"n", keys, costs, limit, ms}
	case "dedupe":
		keys := h.keys()
		want, events = h.store.Dedupe(h.tenant, "n", keys, ms, h.now)
		args = []any{"n", keys, ms}
	case "acquire":
		owner := pick(h.t, "owner", "x", "", "é\"")
		want, events = h.store.Acquire(h.tenant, "n", key, owner, ms, h.now)
		args = []any{"n", key, owner, ms}
	default:
		token, text := h.token(key)
		args = []any{"n", key, text}
		switch name {
		case "renew":
			want, events = h.store.Renew(h.tenant, "n", key, token, ms, h.now)
			args = append(args, ms)
		case "guard":
			want, events = h.store.Guard(h.tenant, "n", key, token, h.now)
		case "release":
			want, events = h.store.Release(h.tenant, "n", key, token, h.now)
		}
	}
	got := h.call(ctx, name, append(args, h.tenant, h.now.String()))
	if !h.tokens.sameJSON(want, got) {
		h.fail("the last call gave %s\n  want %s", show(got), show(want))
	}
	h.tally.calls++
	for _, e := range events {
		h.tally.events[e]++
	}
}

// token is mostly that of the key's row, live or not, else one of another row or of an earlier time, or none.
func (h *patternHistory) token(key string) (model.Version, string) {
	token := model.Version(0)
	if row, there := h.store.Rows(h.tenant)[model.ID{Namespace: "n", Key: key}]; there {
		token = row.Version
	}
	if len(h.versions) > 0 && rarely(h.t, 1, "another") {
		token = h.versions[rapid.IntRange(0, len(h.versions)-1).Draw(h.t, "version")]
	}
	if token == 0 {
		return 0, "9223372036854775807"
	}
	return token, h.tokens.server[token]
}

// call is the answer, or the SQLSTATE and the message.
func (h *patternHistory) call(ctx context.Context, name string, args []any) any {
	texts := make([][]byte, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case []int64:
			if arg != nil {
				texts[i] = []byte(strings.NewReplacer("[", "{", "]", "}", " ", ",").Replace(fmt.Sprint(arg)))
			}
		case []string:
			list, err := json.Marshal(arg)
			if err != nil {
				h.fail("%v", err)
			}
			texts[i] = []byte("{" + strings.Trim(string(list), "[]") + "}")
		default:
			texts[i] = []byte(fmt.Sprint(arg))
		}
	}
	h.script = append(h.script, fmt.Sprintf("%s(%s)", name, strings.ReplaceAll(string(join(texts)), h.tenant, "tenant")))
	r := h.server.conn.ExecParams(ctx, patternSQL[name], texts, nil, nil, nil).Read()
	var raised *pgconn.PgError
	if errors.As(r.Err, &raised) {
		return raised.Code + " " + raised.Message
	}
	if r.Err != nil {
		h.fail("the session ends: %v", r.Err)
	}
	v, err := parse(r.Rows[0][0])
	if err != nil {
		h.fail("%s: %v", r.Rows[0][0], err)
	}
	return v
}

func join(texts [][]byte) []byte {
	var all []byte
	for i, text := range texts {
		if i > 0 {
			all = append(all, ", "...)
		}
		if text == nil {
			text = []byte("null")
		}
		all = append(all, text...)
	}
	return all
}
