package kvpg

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Times cross as microseconds since 1970: exact, and no DateStyle or TimeZone has a say in it. The typed reads stand in FROM
// with parameters alone, so the planner inlines them.
const (
	getSQL = `select value::text, version,
       (extract(epoch from expires_at) * 1000000)::bigint,
       (extract(epoch from updated_at) * 1000000)::bigint
  from queen.kv_get_v1($1::text, $2::text, $3::uuid, null)`

	getManySQL = `select coalesce(json_agg(json_build_object(
         'key', key, 'value', value, 'version', version,
         'expires', (extract(epoch from expires_at) * 1000000)::bigint,
         'updated', (extract(epoch from updated_at) * 1000000)::bigint)), '[]')::text
  from queen.kv_get_many_v1($1::text, $2::text[], $3::uuid, null)`
)

// Get reads a key. ok is false when it is not there or has expired, and then the Entry holds the key alone; a stored JSON null
// is there. It takes no lock, and costs the server what a hand-written SELECT by primary key costs.
func Get(ctx context.Context, db DB, ns Namespace, key string) (entry Entry, ok bool, err error) {
	if fault := checkNamespace(ns); fault != nil {
		return Entry{}, false, fault
	}
	if fault := checkKey(key); fault != nil {
		return Entry{}, false, fault
	}
	var value string
	var version, updated int64
	var expires *int64
	err = db.QueryRow(ctx, getSQL, ns.name, key, ns.tenantText()).Scan(&value, &version, &expires, &updated)
	if errors.Is(err, sql.ErrNoRows) { // pgx.ErrNoRows is one too
		return Entry{Key: key}, false, nil
	}
	if err != nil {
		return Entry{}, false, mapError(err)
	}
	row := rowWire{Key: key, Value: json.RawMessage(value), Version: version, Expires: expires, Updated: updated}
	return row.entry(), true, nil
}

// GetMany reads up to 4,096 keys in one snapshot and gives a slot per input key, in input order; a repeated key has its answer
// in each of its slots. It takes no lock. There is no read budget: the answer can be as large as the keys' values are.
//
// With no keys GetMany gives nil without asking the database. More than 4,096 are refused ([ErrTooManyKeys]).
func GetMany(ctx context.Context, db DB, ns Namespace, keys []string) ([]Lookup, error) {
	if fault := checkNamespace(ns); fault != nil {
		return nil, fault
	}
	if fault := checkKeys(keys); fault != nil {
		return nil, fault
	}
	if len(keys) > maxKeys {
		return nil, tooManyKeys(len(keys))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var answer string
	if err := db.QueryRow(ctx, getManySQL, ns.name, arrayLiteral(keys), ns.tenantText()).Scan(&answer); err != nil {
		return nil, mapError(err)
	}
	var rows []rowWire
	if err := json.Unmarshal([]byte(answer), &rows); err != nil {
		return nil, fmt.Errorf("kvpg: reading the answer of kv_get_many_v1: %w", err)
	}
	found := make(map[string]Entry, len(rows))
	for i := range rows {
		found[rows[i].Key] = rows[i].entry()
	}
	slots := make([]Lookup, len(keys))
	for i, key := range keys {
		entry, ok := found[key]
		entry.Key = key
		slots[i] = Lookup{Entry: entry, Found: ok}
	}
	return slots, nil
}

// GetPrefixOptions are the options of [GetPrefix].
type GetPrefixOptions struct {
	// After is the exclusive cursor: only keys above it are given. Empty starts at the first. It need not be a key that exists.
	After string

	// Limit is the most entries to give: 0 means 100, and anything else is clamped to 1..1000.
	Limit int

	// KeysOnly leaves the values out; the page is then not cut by their size.
	KeysOnly bool
}

// GetPrefix reads a page of the keys that start with prefix, in ascending byte order (not a language's: "Z" is below "a").
// The prefix is not a pattern: %, _ and \ mean themselves. It must not be empty ([ErrPrefixRequired]).
//
// A page ends at Limit entries or about 4 MiB of values, and a truncated page has at least one entry. To go on, ask again with
// After set to the page's NextAfter. Pages are snapshots of their own: keys written meanwhile show up behind the cursor only.
func GetPrefix(ctx context.Context, db DB, ns Namespace, prefix string, opts *GetPrefixOptions) (Page, error) {
	r, err := applyOne(ctx, db, GetPrefixOp(ns, prefix, opts))
	return r.Page, err
}

// rowWire is a row of a typed read.
type rowWire struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Version int64           `json:"version"`
	Expires *int64          `json:"expires"`
	Updated int64           `json:"updated"`
}

func (w *rowWire) entry() Entry {
	e := Entry{Key: w.Key, Value: w.Value, Version: Version{w.Version}, UpdatedAt: time.UnixMicro(w.Updated).UTC()}
	if w.Expires != nil {
		e.ExpiresAt = time.UnixMicro(*w.Expires).UTC()
	}
	return e
}

// arrayLiteral writes a text[] as PostgreSQL reads it. A string with a cast works in all of pgx's modes and through
// database/sql, which knows no arrays.
func arrayLiteral(items []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		for j := range len(item) {
			if c := item[j]; c == '"' || c == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(item[j])
		}
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
