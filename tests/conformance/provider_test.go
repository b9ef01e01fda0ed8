package conformance

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/testdb"
)

// TestProviders installs in databases of every collation provider that the server has, and plays the cases of byte order there.
func TestProviders(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]struct {
		since  int // the major version
		locale string
	}{
		"libc, C":             {0, "lc_collate 'C' lc_ctype 'C'"},
		"libc, a language":    {0, language(t)},
		"icu, en-US":          {15, "locale_provider icu icu_locale 'en-US' lc_collate 'C' lc_ctype 'C'"},
		"icu, without case":   {15, "locale_provider icu icu_locale 'und-u-ks-level1' lc_collate 'C' lc_ctype 'C'"},
		"builtin, C.UTF-8":    {17, "locale_provider builtin builtin_locale 'C.UTF-8' lc_collate 'C' lc_ctype 'C'"},
		"builtin, PG_UNICODE": {18, "locale_provider builtin builtin_locale 'PG_UNICODE_FAST' lc_collate 'C' lc_ctype 'C'"},
	} {
		if testdb.ServerMajor(t) < p.since {
			continue // the version has no such databases
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, &testdb.Options{Empty: true, Locale: p.locale})
			conn := db.Conn(t)
			if err := queenkv.Install(t.Context(), conn, nil); err != nil {
				t.Fatal(err)
			}
			p := &Player{Conn: db.Conn(t, settings(nil)).PgConn(), State: conn.PgConn()}
			play(t, p, "byte_order.json")
			form(besideAnother).in(p)
			play(t, p, "byte_order.json")
		})
	}
}

// language is a locale of the C library in which letters aren't sorted as bytes, or, where the machine has none (a container
// often has C alone), C.UTF-8 by the name that it has there.
func language(t *testing.T) string {
	t.Helper()
	conn := testdb.New(t, &testdb.Options{Empty: true}).Conn(t)
	var name string
	err := conn.QueryRow(t.Context(), `select collcollate from pg_collation
		where collprovider = 'c' and collencoding = 6 and collcollate ~* 'utf'
		order by collcollate ~* '^(c|posix)', collcollate limit 1`).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		t.Log("the machine's C library has the locale C alone")
		return "lc_collate 'C' lc_ctype 'C'"
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("of the C library's locales: %s", name)
	return "lc_collate '" + name + "' lc_ctype '" + name + "'"
}
