package kvpg_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

// Another writer may give a row any expiry that the table takes: up to the end of the year 10000, which the end of 9999 in New York
// lies in. Every operation reads it as the same instant, whatever the session's time zone.
func TestExpiryBeyondTheYear9999(t *testing.T) {
	t.Parallel()
	database := testdb.New(t, nil)
	for text, want := range map[string]time.Time{
		"9999-12-31 23:59:59.999999Z":  time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
		"9999-12-31 23:59:59-05":       time.Date(10000, 1, 1, 4, 59, 59, 0, time.UTC),
		"10000-02-29 00:00:00.5Z":      time.Date(10000, 2, 29, 0, 0, 0, 500000000, time.UTC),
		"10000-12-31 23:59:59.999999Z": time.Date(10000, 12, 31, 23, 59, 59, 999999000, time.UTC),
	} {
		ns := freshSpace()
		database.Exec(t, `insert into queen.kv (tenant_id, namespace, key, value, expires_at) values ($1, $2, 'k', '1', $3::text::timestamptz)`,
			ns.Tenant(), ns.Name(), text)
		for name, settings := range sessions {
			conn := database.Conn(t, func(c *pgx.ConnConfig) {
				for name, value := range settings {
					c.RuntimeParams[name] = value
				}
			})
			tx := begin(t, conn)
			ctx := t.Context()
			is := func(what string, got time.Time) {
				t.Helper()
				if !got.Equal(want) || got.Location() != time.UTC {
					t.Errorf("%s, %s, %s: got %v, want %v", name, text, what, got, want)
				}
			}
			entry, _, err := kvpg.Get(ctx, tx, ns, "k")
			is("Get", must[kvpg.Entry](t)(entry, err).ExpiresAt)
			is("GetMany", must[[]kvpg.Lookup](t)(kvpg.GetMany(ctx, tx, ns, []string{"k"}))[0].ExpiresAt)
			is("GetPrefix", must[kvpg.Page](t)(kvpg.GetPrefix(ctx, tx, ns, "k", nil)).Entries[0].ExpiresAt)
			results := must[[]kvpg.Result](t)(kvpg.Apply(ctx, tx, kvpg.GetOp(ns, "k"), kvpg.GetManyOp(ns, []string{"k"})))
			is("GetOp", results[0].Lookup.ExpiresAt)
			is("GetManyOp", results[1].Many.Entries[0].ExpiresAt)
			is("PutIfAbsent", must[kvpg.Verdict](t)(kvpg.PutIfAbsent(ctx, tx, ns, "k", 1, kvpg.Forever(), nil)).ExpiresAt)
			is("Limit", must[kvpg.LimitVerdict](t)(kvpg.Limit(ctx, tx, ns, "k", 1, 1, time.Hour)).ResetAt)
			is("Incr", must[kvpg.Verdict](t)(kvpg.Incr(ctx, tx, ns, "k", 1, kvpg.Forever(), nil)).ExpiresAt)
			held, _, err := kvpg.AcquireLease(ctx, tx, ns, "k", time.Hour, nil)
			is("AcquireLease", must[kvpg.Lease](t)(held, err).ExpiresAt)
			is("Delete", must[kvpg.Verdict](t)(kvpg.Delete(ctx, tx, ns, "k", nil)).ExpiresAt)
			if err := tx.Rollback(ctx); err != nil { // the next session finds the row as it was
				t.Fatal(err)
			}
		}
	}
}
