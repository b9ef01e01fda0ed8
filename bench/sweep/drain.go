package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/queenkv/queenkv/bench/internal/server"
)

// A bench is the server, and how many live rows are in the table.
type bench struct {
	server  *server.Server
	sizes   sizes
	sweeper string // the program
	plots   string // the folder where plots go; empty: nowhere
	live    int
	puts    int // live rows of the foreground load besides
}

// A drain is one way to delete all expired rows, and what it took.
type drain struct {
	rows    int
	seconds []float64 // of each step that was timed, but for the last
	timed   int       // rows of those
	last    float64   // seconds of the last step, which begins at the beginning, and finds nothing
	buffers []explained
	wal     float64 // bytes a row
}

// An explained step was run under EXPLAIN, and its time does not count.
type explained struct{ rows, buffers int }

// explainEvery says which steps are looked at in place of being timed: the first, and each so many after it.
const explainEvery = 8

// perSecond are the rows a second of all steps, and of all but the last. The last one belongs to all rows, and the others to those
// of the steps that were timed.
func (d drain) perSecond() (all, before float64) {
	var sum float64
	for _, s := range d.seconds {
		sum += s
	}
	before = float64(d.timed) / sum
	return float64(d.rows) / (float64(d.rows)/before + d.last), before
}

// perRow is the buffers a row of one step.
func (e explained) perRow() float64 { return float64(e.buffers) / float64(max(e.rows, 1)) }

// A step deletes up to $1 rows, and answers deleted, next and done: next is $2 of the step after it, nil at the end of a pass, and done
// says that nothing is left. insert is the same step, which writes its answer into bench.answer.
type step struct{ name, statement, insert string }

const (
	callStep = `select (a ->> 'deleted')::int as deleted, a ->> 'nextFrom' as next, (a ->> 'done')::bool as done
		from queen.kv_expire_step_v1(array(select generate_series(0, 63)::smallint), null, $1::int, $2::text::timestamptz) as a`

	// What one would write by hand over the same index, where nobody asks how much is left, and no old snapshot is open. $2 is where the
	// shard that is furthest behind has come to: without it each step of a long drain walks over what the ones before have deleted. As
	// with the function, only a step from the beginning can tell that nothing is left: a row that somebody held is behind $2.
	deleteByHand = `with gone as (
			delete from queen.kv where ctid = any (array(
				select h.ctid
				from generate_series(0, 63) as s (shard)
				cross join lateral (
					select kv.ctid from queen.kv
					where kv.shard = s.shard::smallint and kv.expires_at <= statement_timestamp()
						and kv.expires_at >= coalesce($2::text::timestamptz, '-infinity')
					order by kv.expires_at limit ($1::int + 63) / 64 for update skip locked) as h))
			returning shard, expires_at) `
	answerByHand = `select coalesce(sum(g.rows), 0)::int as deleted, min(g.last)::text as next, count(*) = 0 and $2::text is null as done
		from (select count(*) as rows, max(expires_at) as last from gone group by shard) as g`
)

var (
	function = step{"function", callStep, `insert into bench.answer ` + callStep}
	byHand   = step{"by hand", deleteByHand + answerByHand, deleteByHand + `insert into bench.answer ` + answerByHand}
)

// run drains the table by steps of n rows.
func (b *bench) run(ctx context.Context, s step, n int) (d drain, err error) {
	before, err := b.server.WAL(ctx)
	if err != nil {
		return d, err
	}
	var from *string
	for i := 0; ; i++ {
		var deleted int
		var next *string
		var done bool
		call := func() (seconds float64, err error) {
			begin := time.Now()
			err = b.server.Conn.QueryRow(ctx, s.statement, n, from).Scan(&deleted, &next, &done)
			return time.Since(begin).Seconds(), err
		}
		switch {
		case i > 0 && from == nil:
			if d.last, err = call(); err == nil && !done {
				err = errors.New("a step from the beginning after a pass finds rows, though there is nobody else")
			}
		case i%explainEvery == 0:
			var buffers int
			if buffers, err = b.explain(ctx, s, n, from); err == nil {
				err = b.server.Conn.QueryRow(ctx, `delete from bench.answer returning deleted, next, done`).Scan(&deleted, &next, &done)
			}
			d.buffers = append(d.buffers, explained{deleted, buffers})
		default:
			var seconds float64
			seconds, err = call()
			d.seconds = append(d.seconds, seconds)
			d.timed += deleted
		}
		if err != nil {
			return d, fmt.Errorf("%s: %w", s.name, err)
		}
		d.rows += deleted
		if from = next; done {
			break
		}
		if ctx.Err() != nil || i > 10*b.sizes.expired/n+1000 {
			return d, errors.Join(ctx.Err(), fmt.Errorf("%s: no end after %d steps", s.name, i))
		}
	}
	after, err := b.server.WAL(ctx)
	if err != nil {
		return d, err
	}
	d.wal = float64(after-before) / float64(d.rows)
	return d, b.check(ctx, s, d)
}

// explain runs a step, leaves its answer in bench.answer, and tells how many buffers it asked for, in all of its statements.
func (b *bench) explain(ctx context.Context, s step, n int, from *string) (int, error) {
	var text string
	err := b.server.Conn.QueryRow(ctx, `explain (analyze, buffers, timing off, format json) `+s.insert, n, from).Scan(&text)
	if err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		return 0, fmt.Errorf("a plan that can't be read: %w\n%s", err, text)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read, nil
}

// check fails when a drain has left an expired row, or deleted a live one.
func (b *bench) check(ctx context.Context, s step, d drain) error {
	var expired, live int
	err := b.server.Conn.QueryRow(ctx, `
		select count(*) filter (where expires_at <= statement_timestamp()), count(*) filter (where expires_at > statement_timestamp())
		from queen.kv`).Scan(&expired, &live)
	if err != nil {
		return err
	}
	if expired != 0 || live != b.live+b.puts || d.rows != b.sizes.expired {
		return fmt.Errorf("%s: %d rows deleted of %d, %d expired ones and %d live ones left of %d",
			s.name, d.rows, b.sizes.expired, expired, live, b.live+b.puts)
	}
	return nil
}
