package kvpg

import (
	"context"
	"testing"
)

// An answer that is none of the contract's is an error, and never a panic or a zero result.
func TestAnswersThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, text := range []string{"", "null", "{}", "[]", `[{"op": "get"}, {"op": "get"}]`, `[{"version": 1.5}]`, `[{"version": 9223372036854775808}]`} {
		if r, err := Apply(ctx, answering(text), GetOp(ns, "k")); err == nil {
			t.Errorf("Apply took %q as %+v", text, r)
		}
	}
	for _, text := range []string{"", "{}", `[{"key": 1}]`} {
		if r, err := GetMany(ctx, answering(text), ns, []string{"k"}); err == nil {
			t.Errorf("GetMany took %q as %+v", text, r)
		}
	}
}
