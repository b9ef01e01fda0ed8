package deadlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// Names that a dictionary, or their order of arrival, would sort otherwise than bytes do.
var (
	namespaces = []string{"a.b", "a-b", "ab", "b"}
	keys       = []string{"B", "a", "b", "é", "a b", "a\u200bb"}
)

type op struct {
	Op      string `json:"op"`
	NS      string `json:"ns"`
	Key     string `json:"key"`
	Value   *int   `json:"value,omitempty"`
	Delta   int    `json:"delta,omitempty"`
	TTLMs   int    `json:"ttlMs,omitempty"`
	Forever bool   `json:"forever,omitempty"`
	Expect  *int   `json:"expect,omitempty"`
}

// mostOps is how long a call is at most: a third of the keys, so that calls overlap and none has all.
const mostOps = 8

// anyKeys are two to mostOps keys in random order; with repeats a key may come again.
func anyKeys(repeats bool) (named []op) {
	for _, n := range rand.Perm(len(namespaces) * len(keys))[:2+rand.IntN(mostOps-1)] {
		named = append(named, op{NS: namespaces[n/len(keys)], Key: keys[n%len(keys)]})
	}
	if repeats && rand.IntN(4) == 0 {
		named = append(named, named[rand.IntN(len(named)-1)])
	}
	return named
}

// puts is a call of unconditional puts of distinct keys, which is written as one set.
func puts() []op {
	ops := anyKeys(false)
	for i := range ops {
		ops[i].Op, ops[i].Value, ops[i].Forever = "put", new(rand.IntN(100)), true
	}
	return ops
}

// mixed is a call of ops of all kinds.
func mixed() []op {
	ops := anyKeys(true)
	for i := range ops {
		o := &ops[i]
		o.Op = []string{"put", "put", "putIfAbsent", "incr", "incr", "touch", "delete", "get"}[rand.IntN(8)]
		switch o.Op {
		case "put", "putIfAbsent":
			o.Value = new(rand.IntN(100))
		case "incr":
			o.Delta = 1
		}
		switch o.Op {
		case "put", "touch", "delete":
			if rand.IntN(4) == 0 {
				o.Expect = new(0)
			}
		}
		if o.Op != "delete" && o.Op != "get" {
			if o.Forever = rand.IntN(2) == 0; !o.Forever {
				o.TTLMs = 1 + rand.IntN(20) // so that rows expire, and a delete takes away the dead
			}
		}
	}
	return ops
}

var errOrder = errors.New("the answers are not one for each op in input order")

// apply makes the call in a transaction of its own, and checks that its answers are in input order, each of its op and key.
func apply(ctx context.Context, conn *pgx.Conn, ops []op) error {
	call, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	var answer string
	if err := conn.QueryRow(ctx, "select queen.kv_apply_v1($1::jsonb)::text", string(call)).Scan(&answer); err != nil {
		return err
	}
	var results []struct {
		Index   int
		Op, Key string
		Applied bool
		Value   json.RawMessage
	}
	if err := json.Unmarshal([]byte(answer), &results); err != nil {
		return err
	}
	if len(results) != len(ops) {
		return fmt.Errorf("%w: %s to %s", errOrder, answer, call)
	}
	for i, r := range results {
		if r.Index != i || r.Op != ops[i].Op || r.Key != ops[i].Key {
			return fmt.Errorf("%w, the one at %d: %s to %s", errOrder, i, answer, call)
		}
		if r.Applied && ops[i].Value != nil && string(r.Value) != fmt.Sprint(*ops[i].Value) {
			return fmt.Errorf("%w, by the value at %d: %s to %s", errOrder, i, answer, call)
		}
	}
	return nil
}
