package fuzz

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// sqlStates are the codes of the contract.
var sqlStates = map[string]string{
	"kv_bad_request": "22023", "kv_unknown_op": "22023", "kv_unknown_field": "22023", "kv_tenant_not_an_input": "22023",
	"kv_bad_namespace": "22023", "kv_bad_key": "22023", "kv_prefix_required": "22023", "kv_expiry_not_specified": "22023",
	"kv_bad_ttl": "22023", "kv_bad_expect": "22023", "kv_bad_number": "22023", "kv_too_many_ops": "22023",
	"kv_too_many_keys": "22023", "kv_get_prefix_not_allowed_in_transaction": "22023",
	"kv_key_too_large": "22001", "kv_value_too_large": "22001",
	"kv_precondition_failed": "23514", "kv_contended": "40001", "kv_once_lost": "55000", "kv_lease_lost": "55000",
}

// drawsVersion are the codes that come after a version may have been drawn: they are found out while writing.
var drawsVersion = []string{"kv_precondition_failed", "kv_contended", "kv_once_lost"}

// misformed says what is wrong with an error that should be one of the contract's; nothing when it is one.
func misformed(raised *pgconn.PgError) string {
	state, known := sqlStates[raised.Message]
	switch {
	case !known:
		return "not a code of the contract"
	case state != raised.Code:
		return "its SQLSTATE should be " + state
	}
	var detail map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raised.Detail), &detail); err != nil {
		return "the DETAIL is no JSON object: " + err.Error()
	}
	required, allowed := []string{"problem"}, []string{"problem", "index"}
	if raised.Message == "kv_precondition_failed" {
		required = []string{"index", "op", "ns", "key", "reason", "version"}
		allowed = append([]string{"value", "valueTruncated"}, required...)
	}
	for _, name := range required {
		if _, there := detail[name]; !there {
			return "the DETAIL has no " + name
		}
	}
	for name := range detail {
		if !slices.Contains(allowed, name) {
			return "the DETAIL has " + name
		}
	}
	return ""
}

// misanswered says what is wrong with the answer of kv_apply_v1 to ops; nothing when it has an object for each op, in order.
func misanswered(ops, answer string) string {
	var asked []struct {
		Op string `json:"op"`
	}
	var got []struct {
		Index *int   `json:"index"`
		Op    string `json:"op"`
	}
	if err := json.Unmarshal([]byte(ops), &asked); err != nil {
		return "" // two members named alike but for case confuse encoding/json; the model compares answers
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		return "the answer is no array of objects: " + err.Error()
	}
	if len(got) != len(asked) {
		return fmt.Sprintf("%d results for %d ops", len(got), len(asked))
	}
	for i, r := range got {
		if r.Index == nil || *r.Index != i {
			return fmt.Sprintf("the result at %d has another index", i)
		}
	}
	return ""
}
