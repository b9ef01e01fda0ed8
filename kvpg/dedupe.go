package kvpg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The booleans cross as PostgreSQL writes an array of them: {t,f,t}.
const dedupeSQL = `select queen.kv_dedupe_v1($1::text, $2::text[], $3::bigint, $4::uuid)::text`

// Dedupe says which keys are new, and remembers them for the retention time: true at each position whose key was not there. Of a key
// that is named twice the first position is new. A key that was seen keeps its time.
//
//	fresh, err := kvpg.Dedupe(ctx, tx, seen, ids, 24*time.Hour)
//	for i, event := range events { if fresh[i] { ... } }
//
// Call it in the transaction of the effect: what is rolled back was not seen. A key is new to exactly one caller; the others wait for
// its transaction to end where nothing is committed yet. It stores no result, and takes thousands of keys in one statement;
// [Once] is for an effect that has an answer.
//
// A list of more than 4,096 keys is sent in several calls, sorted whole before it is cut, so that two such lists can't deadlock
// each other. On a pool or a connection each call commits by itself: there use a transaction, or an error leaves the keys of the calls
// before it seen. With no keys Dedupe gives nil without asking the database. retention is rounded up to milliseconds.
func Dedupe(ctx context.Context, db DB, ns Namespace, keys []string, retention time.Duration) ([]bool, error) {
	ms, fault := checkList(ns, keys, retention)
	if fault != nil {
		return nil, fault
	}
	if len(keys) == 0 {
		return nil, nil
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	if len(keys) > maxKeys {
		// Of equal keys the first stays the first, also when the cut is between them.
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(strings.Compare(keys[i], keys[j]), i-j) })
	}
	fresh := make([]bool, len(keys))
	for part := range slices.Chunk(order, maxKeys) {
		if err := dedupePart(ctx, db, ns, keys, part, ms, fresh); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

// dedupePart asks for the keys at the positions of part, and sets fresh there.
func dedupePart(ctx context.Context, db DB, ns Namespace, keys []string, part []int, ms int64, fresh []bool) error {
	some := make([]string, len(part))
	for i, position := range part {
		some[i] = keys[position]
	}
	var answer string
	if err := db.QueryRow(ctx, dedupeSQL, ns.name, arrayLiteral(some), ms, ns.tenantText()).Scan(&answer); err != nil {
		return mapError(err)
	}
	flags := strings.Split(strings.Trim(answer, "{}"), ",")
	if len(flags) != len(part) {
		return fmt.Errorf("kvpg: reading the answer of kv_dedupe_v1: %d answers for %d keys", len(flags), len(part))
	}
	for i, position := range part {
		fresh[position] = flags[i] == "t"
	}
	return nil
}

// checkList is for what takes a list of keys and a time; their number is the caller's to check.
func checkList(ns Namespace, keys []string, ttl time.Duration) (ms int64, fault *Error) {
	fault = cmp.Or(checkNamespace(ns), checkKeys(keys))
	if fault == nil {
		ms, fault = ttlMillis(ttl)
	}
	return ms, ofNoOp(fault)
}

// ofNoOp marks a fault of a call that has no ops.
func ofNoOp(fault *Error) *Error {
	if fault != nil {
		fault.Index = -1
	}
	return fault
}

func tooManyKeys(n int) *Error {
	return refuse(ErrTooManyKeys, strconv.Itoa(n)+" keys; "+strconv.Itoa(maxKeys)+" are allowed")
}
