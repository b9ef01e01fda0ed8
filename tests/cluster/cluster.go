package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Options are the settings of a cluster.
type Options struct {
	// Durable keeps fsync and full_page_writes on, for measurements. Tests go without.
	Durable bool
	// Settings go to the server's command line, over the settings of this package.
	Settings map[string]string
}

// A Cluster is one server. Its methods are not for concurrent use.
type Cluster struct {
	Binaries Binaries
	// Dir is the temporary folder: data, postgres.log and the Unix socket lie in it.
	Dir string

	port     int
	password string
	settings map[string]string
	account  *account
	server   *exec.Cmd
	gone     chan struct{} // closed when the server's process has ended
}

// Start makes a new cluster and returns when it answers. An error leaves nothing behind and
// shows the end of the server's log.
func Start(ctx context.Context, b Binaries, opts *Options) (*Cluster, error) {
	if opts == nil {
		opts = &Options{}
	}
	acc, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "queenkv-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Binaries: b, Dir: dir, password: rand.Text(), account: acc, settings: map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": dir,
		"max_connections":         "300",
		"logging_collector":       "off",
	}}
	if !opts.Durable {
		c.settings["fsync"], c.settings["full_page_writes"] = "off", "off"
	}
	maps.Copy(c.settings, opts.Settings)
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.account.own(c.Dir); err != nil {
		return err
	}
	if err := c.initdb(ctx); err != nil {
		return err
	}
	return c.listen(ctx)
}

// listen starts the server on a free port.
func (c *Cluster) listen(ctx context.Context) error {
	// Another process may take the free port before the server does.
	for attempt := 1; ; attempt++ {
		var err error
		if c.port, err = freePort(); err != nil {
			return err
		}
		err = c.Restart(ctx)
		if err == nil || attempt == 5 || !strings.Contains(err.Error(), "could not bind") {
			return err
		}
	}
}

func (c *Cluster) initdb(ctx context.Context) error {
	pwfile := filepath.Join(c.Dir, "password")
	if err := os.WriteFile(pwfile, []byte(c.password+"\n"), 0o600); err != nil {
		return err
	}
	if err := c.account.own(pwfile); err != nil {
		return err
	}
	initdb := c.command(ctx, "initdb", "--pgdata="+c.data(), "--username=postgres", "--pwfile="+pwfile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.Remove(pwfile)
}

// URL is the superuser's connection string, over TCP.
func (c *Cluster) URL() string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", c.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Stop ends the server and removes the folder. It may be called twice.
func (c *Cluster) Stop() error {
	return errors.Join(c.Shutdown(), os.RemoveAll(c.Dir))
}

func (c *Cluster) data() string    { return filepath.Join(c.Dir, "data") }
func (c *Cluster) logPath() string { return filepath.Join(c.Dir, "postgres.log") }

// command is a program of the cluster's version, run as the unprivileged user, without the
// PG* variables of our caller, which would point it elsewhere.
func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Binaries.Dir, name), args...)
	cmd.Dir = c.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
	c.account.run(cmd)
	return cmd
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
