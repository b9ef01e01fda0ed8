package verify

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/tern/v2/migrate"
)

// Migrations are the numbered files of root/migrations, in order.
func Migrations(root string) ([]string, error) {
	return migrate.FindMigrations(os.DirFS(filepath.Join(root, "migrations")))
}

// Snapshots are the numbers of the migrations that install a snapshot of sql/, in order.
func Snapshots(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, "migrations", "snapshots"))
	if err != nil {
		return nil, err
	}
	var numbers []string
	for _, e := range entries {
		numbers = append(numbers, e.Name())
	}
	return numbers, nil
}

// Released returns the files under migrations/ that a release (a tag v*) holds, with the hash of
// the content they were first released with. They are frozen: databases have run them. A clone
// without the tags is an error where it shows, since then nothing would look released.
func Released(root string) (map[string]string, error) {
	shallow, err := git(root, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return nil, err
	}
	if shallow == "true" {
		return nil, fmt.Errorf("this clone is shallow, and may lack release tags: git fetch --unshallow --tags")
	}
	tags, err := git(root, "tag", "--list", "v*", "--sort=creatordate")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for tag := range strings.FieldsSeq(tags) {
		tree, err := git(root, "ls-tree", "-r", tag, "migrations/")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(tree) {
			// mode SP type SP hash TAB path
			info, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
			hash := info[strings.LastIndexByte(info, ' ')+1:]
			if _, seen := files[path]; !seen && strings.HasSuffix(path, ".sql") {
				files[path] = hash
			}
		}
	}
	return files, nil
}

// Hash is git's hash of the content of a file below root, as [Released] gives it.
func Hash(root, path string) (string, error) {
	return git(root, "hash-object", "--", path)
}

// git runs in the repository's root and returns what git printed.
func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
