package kvpg_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
)

var (
	ctx  = context.Background()
	pool *pgxpool.Pool // from pgxpool.New; the tests open it

	deliveries = kvpg.NewNamespace("deliveries")
	counters   = kvpg.NewNamespace("counters")
	profiles   = kvpg.NewNamespace("profiles")
)

// Compare and set: what was read is changed only if nobody changed it meanwhile.
func ExamplePut() {
	rename := func(user, name string) (bool, error) {
		entry, ok, err := kvpg.Get(ctx, pool, profiles, user)
		if err != nil || !ok {
			return false, err
		}
		var profile map[string]any
		if err := json.Unmarshal(entry.Value, &profile); err != nil {
			return false, err
		}
		profile["name"] = name
		v, err := kvpg.Put(ctx, pool, profiles, user, profile, kvpg.Forever(),
			&kvpg.PutOptions{Expect: kvpg.ExpectVersion(entry.Version)})
		return v.Applied, err // not applied: v.Value is the profile as somebody else left it
	}
	_ = rename
}

// A fixed window: 100 calls an hour, counted from the first.
func ExampleIncr() {
	allowed := func(customer string) (bool, error) {
		limit := int64(100)
		v, err := kvpg.Incr(ctx, pool, counters, customer, 1, kvpg.TTL(time.Hour), &kvpg.IncrOptions{Max: &limit})
		return v.Applied, err // not applied: v.ExpiresAt is when the window closes
	}
	_ = allowed
}

// Several keys in one call, with the caller's own statement, in one transaction.
func ExampleApply() {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		results, err := kvpg.Apply(ctx, tx,
			kvpg.IncrOp(counters, "total", 1, kvpg.Forever(), nil),
			kvpg.PutIfAbsentOp(profiles, "u1", map[string]string{"name": "Ada"}, kvpg.Forever(), nil),
		)
		if err != nil {
			return err
		}
		if !results[1].Verdict.Applied {
			return errors.New("u1 is taken")
		}
		_, err = tx.Exec(ctx, `insert into users (id) values ('u1')`)
		return err
	})
	_ = err
}

// All keys of a prefix, page by page.
func ExampleGetPrefix() {
	each := func(prefix string, do func(kvpg.Entry)) error {
		opts := &kvpg.GetPrefixOptions{Limit: 1000}
		for {
			page, err := kvpg.GetPrefix(ctx, pool, profiles, prefix, opts)
			if err != nil {
				return err
			}
			for _, entry := range page.Entries {
				do(entry)
			}
			if !page.Truncated {
				return nil
			}
			opts.After = page.NextAfter
		}
	}
	_ = each
}

// The driver refuses what PostgreSQL's jsonb can't hold, says where it is, and has sent nothing: a transaction stays usable.
func ExampleError() {
	value := map[string]any{"items": []map[string]string{{"name": "pen"}, {"name": "\x00"}}}
	_, err := kvpg.Put(ctx, pool, profiles, "u1", value, kvpg.Forever(), nil)
	var kvErr *kvpg.Error
	if errors.As(err, &kvErr) {
		fmt.Println(kvErr.Code == kvpg.ErrBadRequest, kvErr.SQLState, kvErr.Path)
	}
	fmt.Println(err)
	// Output:
	// true 22023 $.items[1].name
	// kvpg: kv_bad_request: op 0: $.items[1].name: a string with U+0000
}

// A version travels through an ETag or a form and comes back, to be compared.
func ExampleParseVersion() {
	v, err := kvpg.ParseVersion("9007199254740993")
	fmt.Println(v, v.IsZero(), err)
	// Output: 9007199254740993 false <nil>
}

func ExampleNamespace_For() {
	tenant := [16]byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}
	fmt.Println(profiles.For(tenant))
	fmt.Println(profiles)
	// Output:
	// 01234567-89ab-cdef-fedc-ba9876543210/profiles
	// 00000000-0000-0000-0000-000000000001/profiles
}
