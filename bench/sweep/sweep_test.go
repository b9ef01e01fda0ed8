package main

import (
	"strings"
	"testing"
)

const (
	ranged = `{"Plan": {"Node Type": "Limit", "Actual Loops": 64, "Plans": [{"Node Type": "LockRows", "Actual Loops": 64, "Plans": [
		{"Node Type": "Index Scan", "Relation Name": "kv", "Index Name": "idx_kv_shard_expires", "Actual Loops": 64,
		"Index Cond": "((shard = s.shard) AND (expires_at >= $1) AND (expires_at < $2))"}]}]}}`
	byTid = `{"Plan": {"Node Type": "ModifyTable", "Relation Name": "kv", "Actual Loops": 1, "Plans": [
		{"Node Type": "Tid Scan", "Relation Name": "kv", "Actual Loops": 1}]}}`
)

// A step reads the ranges of the index, and by ctid; whatever else reads the table, or sorts it below a limit, is an error.
func TestPlanTable(t *testing.T) {
	text, err := planTable([]string{ranged, byTid})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| Index Scan of idx_kv_shard_expires on shard and expires_at | 64 |\n", "| Tid Scan | 1 |\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	for name, bad := range map[string]string{
		"a sequential scan": `{"Plan": {"Node Type": "Seq Scan", "Relation Name": "kv"}}`,
		"an open range":     strings.Replace(ranged, " AND (expires_at < $2)", "", 1),
		"all shards":        strings.Replace(ranged, "(shard = s.shard) AND ", "", 1),
		"another index":     strings.Replace(ranged, "idx_kv_shard_expires", "kv_pkey", 1),
		"a sort":            strings.Replace(ranged, "LockRows", "Sort", 1),
		"no JSON":           "Seq Scan on kv",
	} {
		if _, err := planTable([]string{ranged, byTid, bad}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := planTable(nil); err == nil {
		t.Error("no plans are accepted")
	}
}

func TestReadSizes(t *testing.T) {
	t.Setenv("KV_BENCH_ROWS", "")
	t.Setenv("KV_BENCH_EXPIRED", "")
	t.Setenv("KV_BENCH_PAIRS", "")
	if s, err := readSizes(); err != nil || s != (sizes{5_000_000, 1_000_000, 3}) {
		t.Errorf("%+v, %v", s, err)
	}
	t.Setenv("KV_BENCH_ROWS", "100000")
	t.Setenv("KV_BENCH_EXPIRED", "20000")
	if s, err := readSizes(); err != nil || s != (sizes{100_000, 20_000, 3}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, wrong := range []string{"many", "0", "50000"} {
		t.Setenv("KV_BENCH_EXPIRED", wrong)
		if s, err := readSizes(); err == nil {
			t.Errorf("%s: %+v", wrong, s)
		}
	}
}
