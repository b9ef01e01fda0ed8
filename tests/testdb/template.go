package testdb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv"
)

// A kind is what CREATE DATABASE is told besides the name.
type kind struct {
	icu      bool
	encoding string
	locale   string
}

// clause is the end of a CREATE DATABASE statement.
func (k kind) clause(template string) string {
	encoding := k.encoding
	if encoding == "" {
		encoding = "UTF8"
	}
	s := " template " + template + " encoding '" + encoding + "'"
	if k.locale != "" {
		s += " " + k.locale
	} else if k.icu {
		s += " locale_provider icu icu_locale 'en-US' lc_collate 'C' lc_ctype 'C'"
	}
	return s
}

// template returns the name of this kind's template, and builds it when it isn't there. The
// build has another name until it is whole, and one process at a time builds.
func (k kind) template(ctx context.Context, admin *pgxpool.Pool) (string, error) {
	sql, err := queenkv.SQL(nil)
	if err != nil {
		return "", err
	}
	suffix := k.suffix(sql)
	name, build := "kv_template_"+suffix, "kv_build_"+suffix

	if there, err := exists(ctx, admin, name); err != nil || there {
		return name, err
	}
	lock, err := pgx.ConnectConfig(ctx, admin.Config().ConnConfig)
	if err != nil {
		return "", err
	}
	defer lock.Close(context.WithoutCancel(ctx)) // frees the lock
	if _, err := lock.Exec(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
		return "", err
	}
	if there, err := exists(ctx, lock, name); err != nil || there {
		return name, err
	}
	return name, k.build(ctx, lock, build, name)
}

// suffix ends the template's name: the content of sql/, and the kind.
func (k kind) suffix(sql string) string {
	suffix := fmt.Sprintf("%x", sha256.Sum256([]byte(sql)))[:16]
	if k.icu {
		suffix += "_icu"
	}
	return suffix
}

// DropTemplates drops the templates that hold this text of sql/ ([queenkv.SQL]), and what is left of a build that failed: for
// who tries a text that no later run will want.
func DropTemplates(ctx context.Context, sql string) error {
	admin, err := pgx.Connect(ctx, os.Getenv(urlVariable))
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	for _, k := range []kind{{}, {icu: true}} {
		for _, name := range []string{"kv_template_", "kv_build_"} {
			if _, err := admin.Exec(ctx, "drop database if exists "+name+k.suffix(sql)+" with (force)"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k kind) build(ctx context.Context, lock *pgx.Conn, build, name string) error {
	for _, sql := range []string{
		"drop database if exists " + build + " with (force)", // of a process that was killed
		"create database " + build + k.clause("template0"),
	} {
		if _, err := lock.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	conn, err := pgx.Connect(ctx, withDatabase(lock.Config().ConnString(), build))
	if err != nil {
		return err
	}
	err = queenkv.Install(ctx, conn, nil)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	_, err = lock.Exec(ctx, "alter database "+build+" rename to "+name)
	return err
}

type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func exists(ctx context.Context, q queryer, name string) (there bool, err error) {
	err = q.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&there)
	return there, err
}
