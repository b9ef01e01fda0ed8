package main

import (
	"strings"
	"testing"
)

// What pgbench 15 and later print, and 14, which has no column of failures.
const (
	report15 = `pgbench (15.14)
transaction type: script.sql
scaling factor: 1
query mode: prepared
number of clients: 2
number of threads: 2
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 20000
number of failed transactions: 0 (0.000%)
latency average = 0.100 ms
initial connection time = 3.214 ms
tps = 20000.000000 (without initial connection time)
statement latencies in milliseconds and failures:
         0.001           0 \set id random(1, :calls)
         0.030           0 select * from bench.call where id = :id \gset
         0.068           0 select queen.kv_apply_v1(:ops);
`
	report14 = `pgbench (14.19)
query mode: prepared
number of transactions actually processed: 500/500
latency average = 0.100 ms
tps = 20000.000000 (without initial connection time)
statement latencies in milliseconds:
         0.001  \set id random(1, :calls)
         0.030  select * from bench.call where id = :id \gset
         0.068  select queen.kv_apply_v1(:ops);
`
)

// Two clients make 20,000 transactions a second: 100 µs each, of which the fetch takes 31.
func TestParseOutput(t *testing.T) {
	for report, calls := range map[string]int{report15: 20000, report14: 500} {
		r, err := parseOutput(report, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		if r.calls != calls || r.transaction != 100 || r.micros < 68.999 || r.micros > 69.001 {
			t.Errorf("%+v; want %d calls, 100 and 69 µs", r, calls)
		}
	}
	if _, err := parseOutput(strings.Replace(report15, "tps", "speed", 1), 2, 2); err == nil {
		t.Error("a report without a rate is accepted")
	}
	if _, err := parseOutput(report15, 2, 4); err == nil {
		t.Error("a report with fewer latencies than the fetch has lines is accepted")
	}
}

func TestChoose(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != len(cells) {
		t.Errorf("no names: %d cells, %v", len(all), err)
	}
	if two, err := choose("incr,put"); err != nil || len(two) != 2 || two[0].name != "incr" || two[1].name != "put" {
		t.Errorf("incr,put: %v, %v", two, err)
	}
	if _, err := choose("put,nothing"); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an unknown cell: %v", err)
	}
}
