package kvpg

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	thisModule = "github.com/queenkv/queenkv"
	pgxModule  = "github.com/jackc/pgx/v5"
)

// TestWeight keeps the driver's promise: what imports a package under kvpg gets pgx with what pgx needs, and the standard
// library; itself it imports these and kvpg alone. The root package, which carries the schema and what installs it, is not among them.
func TestWeight(t *testing.T) {
	t.Parallel()
	packages := graph(t)
	ours := 0
	for _, p := range packages {
		switch {
		case isUnder(p.ImportPath, thisModule+"/kvpg"):
			ours++
			for _, path := range p.Imports {
				if !isStandard(path) && path != thisModule+"/kvpg" && !isUnder(path, thisModule+"/kvpg/internal") && !isUnder(path, pgxModule) {
					t.Errorf("%s imports %s", p.ImportPath, path)
				}
			}
		case !p.Standard && !slices.Contains(brought, p.Module.Path):
			t.Errorf("the graph has %s of the module %s", p.ImportPath, p.Module.Path)
		}
	}
	if ours == 0 || len(packages) == ours {
		t.Errorf("%d packages of the driver in a graph of %d", ours, len(packages))
	}
}

// brought are the modules that pgx has packages from, its pool's last.
var brought = []string{
	pgxModule, "github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "golang.org/x/text",
	"github.com/jackc/puddle/v2", "golang.org/x/sync",
}

type importing struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Module     struct{ Path string }
}

// graph is every package under kvpg with all that they import, tests apart.
func graph(t *testing.T) []importing {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports,Module", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []importing
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p importing
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func isUnder(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// isStandard goes by the rule of the go command: the first element of any other path has a dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
