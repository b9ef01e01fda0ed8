package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// check fails unless both sides of a cell do the same: the same calls leave the same rows, and the
// same reads find the same rows. A ratio of different work would say nothing.
func (s *server) check(ctx context.Context, c cell) error {
	if c.reads {
		return s.checkReads(ctx, c)
	}
	const seed = 1
	byHand, err := s.rowsAfter(ctx, c, c.byHand, seed)
	if err != nil {
		return err
	}
	function, err := s.rowsAfter(ctx, c, []string{c.function}, seed)
	if err != nil {
		return err
	}
	if byHand != function {
		return fmt.Errorf("the sides leave different rows:\nby hand:  %v\nfunction: %v", byHand, function)
	}
	if (byHand.changed == 0) != c.loses {
		return fmt.Errorf("%d rows were changed", byHand.changed)
	}
	return nil
}

// rows sums up what is in queen.kv, but for what differs from run to run: the versions and times.
type rows struct {
	count, changed int
	digest         string // of keys, values, times to live (or that it was kept), and which row is new
}

// rowsAfter runs the same 200 calls for the same seed.
func (s *server) rowsAfter(ctx context.Context, c cell, statements []string, seed int) (r rows, err error) {
	if err := s.load(ctx, c); err != nil {
		return r, err
	}
	err = s.Exec(ctx, `drop table if exists bench.before`,
		`create table bench.before as select namespace, key, version, expires_at, created_at from queen.kv`)
	if err != nil {
		return r, err
	}
	if _, err := s.bench(ctx, c, statements, 1, seed, "-t", "200"); err != nil {
		return r, err
	}
	err = s.Conn.QueryRow(ctx, `
		select count(*), count(*) filter (where kv.version is distinct from b.version), md5(string_agg(concat_ws(' ',
			kv.tenant_id, namespace, key, kv.value,
			case when kv.expires_at = b.expires_at then 'kept' else (kv.expires_at - kv.updated_at)::text end,
			kv.created_at is distinct from b.created_at, kv.version is distinct from b.version), e'\n' order by namespace, key))
		from queen.kv left join bench.before as b using (namespace, key)`).Scan(&r.count, &r.changed, &r.digest)
	return r, err
}

// checkReads compares what the reads of the first arguments find.
func (s *server) checkReads(ctx context.Context, c cell) error {
	if err := s.load(ctx, c); err != nil {
		return err
	}
	for id := 1; id <= 20; id++ {
		byHand, err := s.found(ctx, c.byHand[0], id)
		if err != nil {
			return err
		}
		function, err := s.found(ctx, c.function, id)
		if err != nil {
			return err
		}
		if len(byHand) == 0 || !slices.Equal(byHand, function) {
			return fmt.Errorf("the sides find different rows, or none:\nby hand:  %v\nfunction: %v", byHand, function)
		}
	}
	return nil
}

// parameter is a variable in a pgbench script; a cast is none.
var parameter = regexp.MustCompile(`(^|[^:]):([a-z]+)`)

// found runs one read with the arguments of one row of bench.call, and returns the keys and
// versions that it found, sorted. A result of kv_apply_v1 is a get's or has a getMany's rows.
func (s *server) found(ctx context.Context, statement string, id int) ([]string, error) {
	var args []any
	var err error
	statement = parameter.ReplaceAllStringFunc(statement, func(match string) string {
		before, name, _ := strings.Cut(match, ":")
		var value string
		if err == nil {
			err = s.Conn.QueryRow(ctx, `select `+name+`::text from bench.call where id = $1`, id).Scan(&value)
		}
		args = append(args, value)
		return fmt.Sprintf("%s$%d", before, len(args))
	})
	if err != nil {
		return nil, err
	}
	rows, err := s.Conn.Query(ctx, `select to_jsonb(r) from (`+strings.TrimSuffix(statement, ";")+`) as r`,
		slices.Insert(args, 0, any(pgx.QueryExecModeSimpleProtocol))...)
	if err != nil {
		return nil, err
	}
	type row struct {
		Key     string
		Version int64
		Rows    []row
		Apply   []row `json:"kv_apply_v1"`
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[json.RawMessage])
	if err != nil {
		return nil, err
	}
	var all []string
	var add func(r row)
	add = func(r row) {
		for _, inner := range slices.Concat(r.Apply, r.Rows) {
			add(inner)
		}
		if r.Version != 0 {
			all = append(all, fmt.Sprint(r.Key, " ", r.Version))
		}
	}
	for _, text := range texts {
		var r row
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		add(r)
	}
	slices.Sort(all)
	return all, nil
}
