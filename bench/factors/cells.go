package main

import "fmt"

// A cell is a place where operations are measured: the base, or the base with one factor changed.
type cell struct {
	group, factor string // the heading of its table, and what is varied in it; "" is the base
	clients       int
	settings      []string // of PostgreSQL, beside those that the page's head shows
	batch         int      // keys in a call of the batch operations
	value         int      // bytes of a value's JSON text
	rows          int
	hot           bool // every call is on one key
	dup           int  // percent of calls whose key is there, or was done, already
	ops           []op
	aims          map[string]float64 // the least ratio, by "operation/contender"
}

func (c cell) table() string { return fmt.Sprint(c.rows, "x", c.value) }

// place tells a cell of a group from another.
func (c cell) place() string { return fmt.Sprintf("%s: %s", c.group, c.factor) }

const (
	baseGroup  = "The base cell"
	flushGroup = "A flush that takes 1 ms"
)

// cells are in an order in which a table is loaded as seldom as possible.
func cells(s sizes) []cell {
	base := cell{group: baseGroup, factor: "base", clients: 8, batch: 1, value: 1024, rows: s.rows,
		ops: []op{put, get, getMany, incr, absent, lost, once},
		aims: map[string]float64{
			"put/apply": 0.85, "incr/apply": 0.7, "losing putIfAbsent/apply": 0.6, "once/kvpg": 0.75,
			"get/typed": 0.95, "get/apply": 0.6, "getMany of 100/typed": 0.95, "getMany of 100/apply": 0.5}}
	vary := func(group, factor string, ops []op, change func(c *cell)) cell {
		c := base
		c.group, c.factor, c.ops, c.aims = group, factor, ops, nil
		change(&c)
		return c
	}
	all := []cell{base}
	for _, n := range []int{1, 32} {
		all = append(all, vary("Clients", fmt.Sprint(n), []op{put, get, incr, lost, once}, func(c *cell) {
			c.clients = n
			if n == 1 {
				c.aims = map[string]float64{"put/apply": 0.7}
			}
		}))
	}
	for _, n := range []int{10, 100, 256} {
		all = append(all, vary("Batch", fmt.Sprint(n), []op{batch}, func(c *cell) {
			c.batch = n
			if n == 256 {
				c.aims = map[string]float64{"batch of puts/apply": 0.65}
			}
		}))
	}
	all = append(all, vary("One hot key", "all calls on one key", []op{put, incr}, func(c *cell) { c.hot = true }))
	for _, n := range []int{30, 90} {
		all = append(all, vary("Duplicates", fmt.Sprint(n, "%"), []op{absent, onceDup}, func(c *cell) { c.dup = n }))
	}
	all = append(all,
		vary("No fsync", "fsync off", []op{put, incr, absent, batch, once}, func(c *cell) { c.settings, c.batch = []string{"fsync = off"}, 100 }),
		vary(flushGroup, "commit_delay", []op{put, incr, absent, batch, once}, func(c *cell) {
			c.settings, c.batch = []string{"commit_delay = 1000", "commit_siblings = 0"}, 100
		}))
	sized := []op{put, get, absent, lost}
	all = append(all,
		vary("Size of the value", "16 B", sized, func(c *cell) { c.value = 16 }),
		vary("Size of the value", "32 KiB", sized, func(c *cell) { c.value, c.rows = 32<<10, s.large }))
	grown := []op{put, get, getMany, incr, lost}
	for _, n := range []int{s.small, s.big} {
		all = append(all, vary("Rows", fmt.Sprint(n), grown, func(c *cell) { c.value, c.rows = 16, n }))
	}
	return all
}
