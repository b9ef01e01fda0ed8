package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv"
)

type schemaCommand struct {
	Print   schemaPrint   `cmd:"" help:"Print the SQL that install executes."`
	Install schemaInstall `cmd:"" help:"Install the schema of this release, or bring an older one to it."`
	Migrate schemaMigrate `cmd:"" help:"Run the numbered migrations that are missing."`
	Version schemaVersion `cmd:"" help:"Print the schema version of this program and of the database."`
}

type valueBytes struct {
	ValueBytes int `default:"0" help:"Ceiling of a value's size, 256 to 262144 bytes; 0 is 65536."`
}

type schemaPrint struct{ valueBytes }

// Run is called by kong.
func (c *schemaPrint) Run(s streams) error {
	sql, err := queenkv.SQL(&queenkv.InstallOptions{ValueBytes: c.ValueBytes})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "begin;\n%s\ncommit;\n", sql)
	return err
}

type schemaInstall struct {
	database
	valueBytes
}

// Run is called by kong.
func (c *schemaInstall) Run(ctx context.Context, s streams) error {
	return c.change(ctx, s, func(conn *pgx.Conn) error {
		return queenkv.Install(ctx, conn, &queenkv.InstallOptions{ValueBytes: c.ValueBytes})
	})
}

type schemaMigrate struct {
	database
	valueBytes
}

// Run is called by kong.
func (c *schemaMigrate) Run(ctx context.Context, s streams) error {
	return c.change(ctx, s, func(conn *pgx.Conn) error {
		return queenkv.Migrate(ctx, conn, &queenkv.MigrateOptions{ValueBytes: c.ValueBytes})
	})
}

func (d *database) change(ctx context.Context, s streams, do func(*pgx.Conn) error) error {
	conn, err := d.conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := do(conn); err != nil {
		return err // queenkv's errors say the remedy
	}
	fmt.Fprintf(s.out, "the schema is of version %d\n", queenkv.SchemaVersion)
	return nil
}

type schemaVersion struct{ database }

// Run is called by kong.
func (c *schemaVersion) Run(ctx context.Context, s streams) error {
	conn, err := c.conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var have int
	if err := conn.QueryRow(ctx, "select queen.kv_schema_version_v1()").Scan(&have); err != nil {
		return withRemedy("schema version", err)
	}
	fmt.Fprintf(s.out, "program %d, database %d\n", queenkv.SchemaVersion, have)
	if have < queenkv.SchemaVersion {
		return &statusError{exitError, "the database's schema is older than this program's: kv-sweeper schema install"}
	}
	return nil
}
