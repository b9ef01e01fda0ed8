package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// sqlStates are the contract's codes: what may come back besides an answer, and nothing else.
var sqlStates = map[string]string{
	"kv_bad_request": "22023", "kv_unknown_op": "22023", "kv_unknown_field": "22023", "kv_tenant_not_an_input": "22023",
	"kv_bad_namespace": "22023", "kv_bad_key": "22023", "kv_prefix_required": "22023", "kv_expiry_not_specified": "22023",
	"kv_bad_ttl": "22023", "kv_bad_expect": "22023", "kv_bad_number": "22023", "kv_too_many_ops": "22023",
	"kv_too_many_keys": "22023", "kv_get_prefix_not_allowed_in_transaction": "22023",
	"kv_key_too_large": "22001", "kv_value_too_large": "22001",
	"kv_precondition_failed": "23514", "kv_contended": "40001", "kv_once_lost": "55000", "kv_lease_lost": "55000",
}

// A refusal is an error of the contract, taken apart.
type refusal struct {
	code, detail string
	index        *int
	problem      string
}

// refusedWith makes a refusal of an error, and says what is wrong with its form.
func refusedWith(err error) (r refusal, fault string) {
	var raised *pgconn.PgError
	if !errors.As(err, &raised) {
		return r, fmt.Sprintf("no error of the server: %v", err)
	}
	r.code, r.detail = raised.Message, raised.Detail
	if want, ok := sqlStates[raised.Message]; !ok || want != raised.Code {
		return r, fmt.Sprintf("%s %s is not of the contract's list (DETAIL %.300s)", raised.Code, raised.Message, raised.Detail)
	}
	var detail struct {
		Index   *int    `json:"index"`
		Problem *string `json:"problem"`
	}
	d := json.NewDecoder(strings.NewReader(raised.Detail))
	if raised.Message != "kv_precondition_failed" {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(&detail); err != nil {
		return r, fmt.Sprintf("the DETAIL %.300s is not {index, problem}: %v", raised.Detail, err)
	}
	r.index = detail.Index
	if raised.Message == "kv_precondition_failed" {
		return r, ""
	}
	if detail.Problem == nil || *detail.Problem == "" {
		return r, "the DETAIL says no problem: " + raised.Detail
	}
	r.problem = *detail.Problem
	return r, ""
}

// call is kv_apply_v1 with nothing but ops.
func call(ctx context.Context, q queryer, ops string) error {
	var answer *string
	return q.QueryRow(ctx, "select queen.kv_apply_v1($1::jsonb)::text", ops).Scan(&answer)
}

// rowCount is how many rows the table has, dead ones too.
func rowCount(t *testing.T, q queryer) (n int) {
	t.Helper()
	scan(t, q, "select count(*) from queen.kv", nil, &n)
	return n
}
