package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A setting is varied alone, by its values in turn.
type setting struct {
	name   string
	values []value
}

// A value is what a setting is changed to: storage parameters of queen.kv, or the CACHE of its sequence.
type value struct {
	name    string
	options map[string]string
	cache   int
}

const (
	scale     = "autovacuum_vacuum_scale_factor"
	threshold = "autovacuum_vacuum_threshold"
	delay     = "autovacuum_vacuum_cost_delay"
	limit     = "autovacuum_vacuum_cost_limit"
	truncate  = "vacuum_truncate"
)

// settings hold the value that sql/024_kv.sql sets, wherever that is among them, and the ones it is compared with.
var settings = []setting{
	{"fillfactor", []value{
		{name: "100", options: map[string]string{"fillfactor": "100"}},
		{name: "90", options: map[string]string{"fillfactor": "90"}},
		{name: "80", options: map[string]string{"fillfactor": "80"}},
		{name: "70", options: map[string]string{"fillfactor": "70"}},
	}},
	{"threshold", []value{
		{name: "20%", options: map[string]string{scale: "0.2", threshold: "50"}},
		{name: "5%", options: map[string]string{scale: "0.05", threshold: "50"}},
		{name: "2%", options: map[string]string{scale: "0.02", threshold: "50"}},
		{name: "1000 rows", options: map[string]string{scale: "0", threshold: "1000"}},
	}},
	{"cost", []value{
		{name: "2 ms after 200", options: map[string]string{delay: "2", limit: "200"}},
		{name: "2 ms after 1000", options: map[string]string{delay: "2", limit: "1000"}},
		{name: "no delay", options: map[string]string{delay: "0", limit: "200"}},
	}},
	{"truncate", []value{
		{name: "true", options: map[string]string{truncate: "true"}},
		{name: "false", options: map[string]string{truncate: "false"}},
	}},
	{"cache", []value{
		{name: "1", cache: 1},
		{name: "32", cache: 32},
		{name: "1000", cache: 1000},
	}},
}

// unset is what PostgreSQL takes for a parameter that the table does not have.
var unset = map[string]string{"fillfactor": "100", scale: "0.2", threshold: "50", delay: "2", limit: "200", truncate: "true"}

// statements put a value in force. The table is still empty, so that all of its pages are filled by it.
func (v value) statements() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(v.options)) {
		list = append(list, fmt.Sprintf(`alter table queen.kv set (%s = %s)`, name, v.options[name]))
	}
	if v.cache > 0 {
		list = append(list, fmt.Sprintf(`alter sequence queen.kv_version_seq cache %d`, v.cache))
	}
	return list
}

// installed is what a fresh install has.
type installed struct {
	options map[string]string
	cache   int
}

func (i installed) has(v value) bool {
	for name, want := range v.options {
		have, ok := i.options[name]
		if !ok {
			have = unset[name]
		}
		if have != want {
			return false
		}
	}
	return v.cache == 0 || v.cache == i.cache
}

func (i installed) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(i.options)) {
		list = append(list, name+" = "+i.options[name])
	}
	return strings.Join(append(list, "CACHE "+strconv.Itoa(i.cache)), ", ")
}

func readInstalled(ctx context.Context, conn *pgx.Conn) (i installed, err error) {
	var options []string
	err = conn.QueryRow(ctx, `select coalesce((select reloptions from pg_class where oid = 'queen.kv'::regclass), '{}'),
		(select seqcache::int from pg_sequence where seqrelid = 'queen.kv_version_seq'::regclass)`).Scan(&options, &i.cache)
	i.options = map[string]string{}
	for _, option := range options {
		name, text, _ := strings.Cut(option, "=")
		i.options[name] = text
	}
	return i, err
}

// A variant is the default with values changed: none, one, or what the rule took.
type variant struct {
	setting string // empty for the default and the last run
	name    string
	changes []value
}

const defaultName, lastName = "default", "all taken"

// variants are the ones of these settings that differ from what is installed.
func variants(have installed, names []string) (list []variant) {
	for _, s := range settings {
		if !slices.Contains(names, s.name) {
			continue
		}
		for _, v := range s.values {
			if !have.has(v) {
				list = append(list, variant{s.name, s.name + " " + v.name, []value{v}})
			}
		}
	}
	return list
}

// order has the default first, in the middle and last: how far its runs are apart shows the noise, and whether the machine drifts.
func order(list []variant) []variant {
	base := variant{name: defaultName}
	half := (len(list) + 1) / 2
	return slices.Concat([]variant{base}, list[:half], []variant{base}, list[half:], []variant{base})
}
