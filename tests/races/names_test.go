package races

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const namespace = "races"

// names is one key as the database and the contract's row know it: versions have names there, and
// so have markers.
type names struct {
	key     string
	version map[string]int64
	name    map[int64]string
}

var zero = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// time is the instant as the database has it; nil is forever.
func (i instant) time() *time.Time {
	if i == forever {
		return nil
	}
	t := zero.Add(time.Duration(i) * time.Second)
	return &t
}

func instantOf(t *time.Time) instant {
	if t == nil {
		return forever
	}
	return instant(t.Sub(zero) / time.Second)
}

// stored is the JSON of a value or a marker.
func (k *names) stored(value string) string {
	switch value {
	case doneMarker:
		return `{"once": "done", "result": "dGhlIGFuc3dlcg==", "isError": false, "fingerprint": null}` // onceResult
	case pendingMarker:
		return `{"once": "pending", "xid": "3", "ttlMs": 1000, "fingerprint": null}`
	}
	return value
}

func (k *names) shown(value string) string {
	switch {
	case strings.Contains(value, `"once": "pending"`), strings.Contains(value, `"once":"pending"`):
		return pendingMarker
	case strings.Contains(value, `"once": "done"`), strings.Contains(value, `"once":"done"`):
		return doneMarker
	}
	return value
}

// named puts names for a verdict's version; drawn is the name of one that has had none so far.
func (k *names) named(v verdict, drawn string) verdict {
	version, err := strconv.ParseInt(v.version, 10, 64)
	if err != nil {
		return v // there is none
	}
	if k.name[version] == "" {
		k.name[version] = drawn
	}
	v.version = k.name[version]
	return v
}

// read is the key's row as conn sees it; drawn is the name of a version that has had none so far.
func (k *names) read(ctx context.Context, conn *pgx.Conn, drawn string) (row, error) {
	var r row
	var version int64
	var expires, created, updated *time.Time
	err := conn.QueryRow(ctx, `select value::text, version, expires_at, created_at, updated_at from queen.kv
		where namespace = $1 and key = $2`, namespace, k.key).Scan(&r.value, &version, &expires, &created, &updated)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, nil
	}
	if k.name[version] == "" {
		k.name[version] = drawn
	}
	r.value, r.version = k.shown(r.value), k.name[version]
	r.expires, r.created, r.updated = instantOf(expires), instantOf(created), instantOf(updated)
	return r, err
}
