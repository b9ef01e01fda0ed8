package kvpg

import (
	"go/build"
	"strings"
	"testing"
)

// TestImports keeps the driver's promise: pgx and the standard library, nothing else, and not the root package.
func TestImports(t *testing.T) {
	t.Parallel()
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkg.Imports) == 0 {
		t.Fatal("no imports found")
	}
	for _, path := range pkg.Imports {
		root, _, _ := strings.Cut(path, "/")
		isStandard := !strings.Contains(root, ".")
		if !isStandard && path != "github.com/jackc/pgx/v5" && !strings.HasPrefix(path, "github.com/jackc/pgx/v5/") {
			t.Errorf("kvpg imports %s", path)
		}
	}
}
