package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// copies makes n copies of the tree under root. remove takes them away again, also after an error.
func copies(root string, n int) (trees []string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "queenkv-mutants-")
	if err != nil {
		return nil, func() {}, err
	}
	remove = func() { os.RemoveAll(dir) }
	for i := range n {
		tree := filepath.Join(dir, fmt.Sprint(i))
		if err := copyTree(root, tree); err != nil {
			return nil, remove, err
		}
		trees = append(trees, tree)
	}
	return trees, remove, nil
}

// copyTree copies what the tests need: all but .git and what is built.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case below == ".git" || below == "bin":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil // .git is a file where the tree is a worktree
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, below), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, below), text, info.Mode().Perm())
	})
}
