// Generate writes what is made from sql/:
//
//	go run ./generate dist       writes dist/queen_kv.sql
//	go run ./generate snapshot   freezes sql/ in migrations/, by tern's own snapshot command
//
// It runs in tests/. A snapshot that no release holds yet (a tag v*) is made anew under its
// number; once it is released it stays as it is, and the next one gets a new number.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/queenkv/queenkv/tests/textdiff"
	"github.com/queenkv/queenkv/tests/verify"
)

const root = ".."

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "dist" {
		return dist()
	}
	if len(args) == 1 && args[0] == "snapshot" {
		return snapshot()
	}
	return fmt.Errorf("usage: generate dist|snapshot")
}

func dist() error {
	text, err := verify.Dist()
	if err != nil {
		return err
	}
	path := filepath.Join(root, verify.DistPath)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func snapshot() error {
	migrations, err := verify.Migrations(root)
	if err != nil {
		return err
	}
	released, err := verify.Released(root)
	if err != nil {
		return err
	}
	if len(migrations) > 0 {
		last := migrations[len(migrations)-1]
		number, _, _ := strings.Cut(last, "_")
		file := filepath.Join(root, "migrations", last)
		frozen := filepath.Join(root, "migrations", "snapshots", number)
		if _, isReleased := released["migrations/"+last]; isReleased {
			if diff, err := textdiff.OfPaths(frozen, filepath.Join(root, "sql")); err == nil && diff == "" {
				fmt.Println("sql/ is as the released snapshot", number, "has it: nothing to do")
				return nil
			}
			fmt.Println(last, "is released and stays as it is; a new number follows")
		} else if _, err := os.Stat(frozen); err == nil {
			fmt.Println(last, "is in no release (tag v*): making it anew")
			if err := os.RemoveAll(frozen); err != nil {
				return err
			}
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	tern := exec.Command("go", "tool", "tern", "code", "snapshot",
		filepath.Join(root, "sql"), "--migrations", filepath.Join(root, "migrations"))
	tern.Stdout, tern.Stderr = os.Stdout, os.Stderr
	return tern.Run()
}
