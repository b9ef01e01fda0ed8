// Package queenkv installs queen.kv's schema: the table, its functions and their helpers.
//
// There are three ways, which exclude each other by one advisory lock:
//
//   - [Install] puts the present state of sql/ there. It can be run at every start of a
//     program: over the same release it changes nothing, and it keeps live data.
//   - [Migrate] runs the numbered migrations that are missing, and keeps their number in the
//     table queen.schema_version.
//   - dist/queen_kv.sql, for psql, does what Install does.
//
// Each may follow another: a migration that meets what is there already leaves it alone.
//
// The role needs CREATE on the database, or to own the schema queen where it exists; no
// superuser and no extension. The database's encoding must be UTF8. Nothing is granted to
// anybody; that is what the SQL function queen.kv_grant_v1 is for. The driver, package kvpg,
// does not import this package.
package queenkv

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

// SchemaVersion is what queen.kv_schema_version_v1() answers after [Install] or [Migrate].
const SchemaVersion = 1

// VersionTable is where [Migrate] keeps the number of the last migration. tern's own default
// lies in the schema public, where the role of an application often may not write.
const VersionTable = "queen.schema_version"

// ErrNewerSchema says that the database holds a schema of a later release than this program.
// Nothing was changed. During a rolling upgrade an old program may well go on with it.
var ErrNewerSchema = errors.New("queenkv: the database's schema is newer than this program's; upgrade the program")

//go:embed sql migrations
var files embed.FS

// InstallOptions are settings of [Install] and [SQL]; nil means the defaults.
type InstallOptions struct {
	// ValueBytes is the ceiling of a value's size, in bytes of its text, from 256 to
	// 262,144; 0 means 65,536. It is part of what is installed: an Install without it sets
	// the default again.
	ValueBytes int
}

// MigrateOptions are settings of [Migrate]; nil means the defaults.
type MigrateOptions struct {
	// ValueBytes is as in [InstallOptions]. It is written by the migrations that run now: to
	// change it in a database that is up to date, use [Install].
	ValueBytes int
}

// SQL returns what [Install] executes, as one text without BEGIN and COMMIT.
func SQL(opts *InstallOptions) (string, error) {
	if opts == nil {
		opts = &InstallOptions{}
	}
	data, err := ternData(opts.ValueBytes)
	if err != nil {
		return "", err
	}
	sql, err := fs.Sub(files, "sql")
	if err != nil {
		return "", err
	}
	pkg, err := migrate.LoadCodePackage(sql)
	if err != nil {
		return "", err
	}
	return pkg.Eval(data)
}

// Install installs the present schema, or brings an older one to it, in one transaction of its
// own. Any number of processes may call it at once: one after the other does it.
//
// It waits for other installers as long as they take, and for no application's lock longer
// than a second: beside an open transaction that is in its way it fails with SQLSTATE 55P03, has changed nothing, and can be called again. Errors
// unwrap to the *pgconn.PgError and say the remedy. conn must be a direct connection (session
// locks do not pass a transaction pooler) without an open transaction. When ctx ends before
// Install does, conn is closed, which frees the lock.
func Install(ctx context.Context, conn *pgx.Conn, opts *InstallOptions) error {
	sql, err := SQL(opts)
	if err != nil {
		return fmt.Errorf("queenkv: install: %w", err)
	}
	return exclusively(ctx, conn, "install", func() error {
		if err := refuseNewer(ctx, conn); err != nil {
			return err
		}
		return migrate.LockExecTx(ctx, conn, sql)
	})
}

// Migrate runs the migrations that the database has not seen, each in a transaction of its
// own, and keeps count in [VersionTable]. What [Install] says of locks, errors, conn and ctx
// holds here too. The session settings of conn are reset (RESET ALL) when a migration runs.
func Migrate(ctx context.Context, conn *pgx.Conn, opts *MigrateOptions) error {
	if opts == nil {
		opts = &MigrateOptions{}
	}
	data, err := ternData(opts.ValueBytes)
	if err != nil {
		return fmt.Errorf("queenkv: migrate: %w", err)
	}
	migrations, err := fs.Sub(files, "migrations")
	if err != nil {
		return fmt.Errorf("queenkv: migrate: %w", err)
	}
	return exclusively(ctx, conn, "migrate", func() error {
		if err := refuseNewer(ctx, conn); err != nil {
			return err
		}
		if err := ensureSchema(ctx, conn); err != nil {
			return err
		}
		m, err := migrate.NewMigrator(ctx, conn, VersionTable)
		if err != nil {
			return err
		}
		m.Data = data
		if err := m.LoadMigrations(migrations); err != nil {
			return err
		}
		done, err := m.GetCurrentVersion(ctx)
		if err != nil {
			return err
		}
		if int(done) > len(m.Migrations) {
			return ErrNewerSchema
		}
		return m.Migrate(ctx)
	})
}

// ternData are the template data of sql/ and the migrations.
func ternData(valueBytes int) (map[string]any, error) {
	const least, most = 256, 1 << 18 // as sql/helpers/kv_limit_v1.sql has it
	switch {
	case valueBytes == 0:
		return map[string]any{}, nil
	case valueBytes < least || valueBytes > most:
		return nil, fmt.Errorf("ValueBytes is %d; it must be 0 (the default) or from %d to %d", valueBytes, least, most)
	}
	return map[string]any{"value_bytes": valueBytes}, nil
}
