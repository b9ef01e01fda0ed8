package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
)

// Standby makes a hot standby that replays what c writes, and returns when it answers. Users and passwords are those of c. It is
// stopped like any cluster; stop it before c.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "queenkv-pg-")
	if err != nil {
		return nil, err
	}
	s := &Cluster{Binaries: c.Binaries, Dir: dir, password: c.password, account: c.account, settings: maps.Clone(c.settings)}
	s.settings["unix_socket_directories"] = dir
	if err := s.follow(ctx, c); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (c *Cluster) follow(ctx context.Context, primary *Cluster) error {
	if err := c.account.own(c.Dir); err != nil {
		return err
	}
	backup := c.command(ctx, "pg_basebackup", "--pgdata="+c.data(), "--dbname="+primary.URL(), "--write-recovery-conf",
		"--checkpoint=fast", "--no-sync")
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	return c.listen(ctx)
}
