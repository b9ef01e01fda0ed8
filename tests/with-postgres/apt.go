package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// installPostgres has apt-get install Debian's postgresql (its server, client and contrib).
// The package makes a cluster of its own on port 5432 of the loopback interface; it is not
// touched here.
func installPostgres(ctx context.Context) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("there is no apt-get to install PostgreSQL")
	}
	if os.Geteuid() != 0 {
		return errors.New("installing PostgreSQL takes root (apt-get install postgresql)")
	}
	say("installing Debian's postgresql")
	for _, args := range [][]string{
		{"update", "-q"},
		{"install", "-q", "-y", "--no-install-recommends", "postgresql"},
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
