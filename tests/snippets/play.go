package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
)

// playLimit bounds one language's program, dropLimit the removal of its database.
const (
	playLimit = time.Minute
	dropLimit = 30 * time.Second
)

// play runs a language's snippets in a database of their own and gives all that they printed. A program that fails is no
// error here: its message is in what it printed, and snippets that were not reached have printed nothing.
func play(ctx context.Context, l language, p *prepared, list []snippet, maintenance string) (printed string, err error) {
	ctx, cancel := context.WithTimeout(ctx, playLimit)
	defer cancel()
	u, err := url.Parse(maintenance)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return "", errors.New("KV_TEST_DATABASE_URL must have the form postgres://")
	}
	name := "kv_snippets_" + strings.ToLower(rand.Text())
	if err := execute(ctx, maintenance, "create database "+name+" template template0 encoding 'UTF8'"); err != nil {
		return "", err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropLimit)
		defer cancel()
		err = errors.Join(err, execute(ctx, maintenance, "drop database "+name+" with (force)"))
	}()
	u.Path = "/" + name
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return "", err
	}
	if err := errors.Join(queenkv.Install(ctx, conn, nil), conn.Close(ctx)); err != nil {
		return "", err
	}

	file := filepath.Join(p.dir, "page"+l.extension)
	if err := os.WriteFile(file, []byte(l.program(list)), 0o600); err != nil {
		return "", err
	}
	args := slices.Concat(p.command, []string{file})
	if l.takesURL {
		args = append(args, u.String())
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), p.env...), "DATABASE_URL="+u.String())
	cmd.Stdout, cmd.Stderr = &output, &output
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return "", err
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("it did not end: %w", ctx.Err())
	}
	return output.String(), nil
}

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}
