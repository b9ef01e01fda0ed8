package quota

import (
	"go/build"
	"strings"
	"testing"
)

// TestImports keeps the promise: kvpg, pgx and the standard library, nothing else.
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
		isOurs := path == "github.com/queenkv/queenkv/kvpg"
		if !isStandard && !isOurs && path != "github.com/jackc/pgx/v5" && !strings.HasPrefix(path, "github.com/jackc/pgx/v5/") {
			t.Errorf("kvpg/quota imports %s", path)
		}
	}
}
