package verify_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"github.com/queenkv/queenkv"
	"github.com/queenkv/queenkv/tests/catalog"
	"github.com/queenkv/queenkv/tests/testdb"
	"github.com/queenkv/queenkv/tests/textdiff"
	"github.com/queenkv/queenkv/tests/verify"
)

// A way leads from an empty database to the present schema.
type way struct {
	name string
	take func(t *testing.T, conn *pgx.Conn)
}

// ways are all but Install, against which they are compared.
func ways(t *testing.T) []way {
	all := []way{
		{"migrated", migrateNow},
		{"dist", func(t *testing.T, conn *pgx.Conn) {
			text, err := os.ReadFile(filepath.Join(root, verify.DistPath))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Exec(t.Context(), string(text)); err != nil {
				t.Fatal(err)
			}
		}},
	}
	snapshots, err := verify.Snapshots(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range snapshots {
		all = append(all, way{"snapshot-" + number + "-then-migrated", func(t *testing.T, conn *pgx.Conn) {
			pkg, err := migrate.LoadCodePackage(os.DirFS(filepath.Join(root, "migrations", "snapshots", number)))
			if err != nil {
				t.Fatal(err)
			}
			if err := migrate.InstallCodePackage(t.Context(), conn, map[string]any{}, pkg); err != nil {
				t.Fatal(err)
			}
			migrateNow(t, conn)
		}})
	}
	return all
}

func migrateNow(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if err := queenkv.Migrate(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWayLeadsToTheSameCatalogs(t *testing.T) {
	t.Parallel()
	want := list(t, testdb.New(t, nil).Conn(t))
	for _, w := range ways(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			conn := testdb.New(t, &testdb.Options{Empty: true}).Conn(t)
			w.take(t, conn)
			compare(t, want, w.name, list(t, conn))
		})
	}
}

func list(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	text, err := catalog.List(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func compare(t *testing.T, installed, name, other string) {
	t.Helper()
	diff, err := textdiff.Of("installed", installed, name, other)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("not what Install makes:\n%s", diff)
	}
}
