// Package textdiff shows how two texts differ, as git does.
package textdiff

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Of compares two texts, whose names say which is which. Equal texts give "".
func Of(wantName, want, gotName, got string) (string, error) {
	if want == got {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "queenkv-diff-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{wantName: want, gotName: got} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return git(dir, wantName, gotName)
}

// OfPaths compares two files, or two folders with all that is in them.
func OfPaths(want, got string) (string, error) { return git("", want, got) }

func git(dir, want, got string) (string, error) {
	cmd := exec.Command("git", "diff", "--no-index", "--no-color", "--no-ext-diff", "--", want, got)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case errors.As(err, &exit) && exit.ExitCode() == 1 && len(out) > 0: // they differ
		return string(out), nil
	case errors.As(err, &exit):
		return "", fmt.Errorf("git diff: %w: %s", err, exit.Stderr)
	}
	return "", fmt.Errorf("git diff: %w", err)
}
