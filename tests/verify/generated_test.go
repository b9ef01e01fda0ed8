package verify_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
	"github.com/queenkv/queenkv/tests/textdiff"
	"github.com/queenkv/queenkv/tests/verify"
)

const root = "../.."

func TestDistIsWhatSQLMakes(t *testing.T) {
	t.Parallel()
	want, err := verify.Dist()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, verify.DistPath))
	if err != nil {
		t.Fatalf("%v; run make dist", err)
	}
	diff, err := textdiff.Of("sql-makes", want, "dist-has", string(got))
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("%s is not what sql/ makes; run make dist\n%s", verify.DistPath, diff)
	}
}

func TestLatestSnapshotIsSQL(t *testing.T) {
	t.Parallel()
	snapshots, err := verify.Snapshots(root)
	if err != nil {
		t.Fatalf("%v; run make snapshot", err)
	}
	latest := filepath.Join(root, "migrations", "snapshots", snapshots[len(snapshots)-1])
	diff, err := textdiff.OfPaths(filepath.Join(root, "sql"), latest)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("%s is not sql/; run make snapshot\n%s", latest, diff)
	}
}

func TestReleasedMigrationsAreFrozen(t *testing.T) {
	t.Parallel()
	released, err := verify.Released(root)
	if err != nil {
		testdb.NotRun(t, "the released migrations can't be told: "+err.Error())
	}
	for path, want := range released {
		got, err := verify.Hash(root, path)
		if err != nil {
			t.Errorf("%s: a release holds it: %v", path, err)
		} else if got != want {
			t.Errorf("%s is not as it was released: put it back, and write a new migration", path)
		}
	}
	t.Logf("%d released files", len(released))
}
