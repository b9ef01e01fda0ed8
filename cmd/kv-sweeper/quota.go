package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/sweeper"
)

type quotaCommand struct {
	Show  quotaShow  `cmd:"" help:"Show limits beside the last measurement: of the tenants named, or of all that have a quota."`
	Set   quotaSet   `cmd:"" help:"Set a tenant's quota, in place of the one before. Bytes are those of values as they are stored."`
	Clear quotaClear `cmd:"" help:"Take a tenant's quota away."`
}

// aTenant is a UUID as an argument.
type aTenant string

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$`)

// Validate is called by kong.
func (t aTenant) Validate() error {
	if !uuidForm.MatchString(string(t)) {
		return usage("a tenant is a UUID, as 7c3f1c52-51a8-4c0e-9d0b-9f3f0e5b1a77")
	}
	return nil
}

type quotaShow struct {
	database
	Tenants []aTenant `arg:"" optional:"" name:"tenant" help:"Which tenants."`
	JSON    bool      `name:"json" help:"Print a line of JSON for each tenant."`
}

// quotaLine is a row of kv_quota_refresh_v1.
type quotaLine struct {
	Tenant     string     `json:"tenant" db:"tenant"`
	Granted    bool       `json:"granted" db:"granted"`
	MaxRows    *int64     `json:"maxRows" db:"max_rows"`
	MaxBytes   *int64     `json:"maxBytes" db:"max_bytes"`
	Rows       int64      `json:"rows" db:"rows"`
	Bytes      int64      `json:"bytes" db:"bytes"`
	Sampled    bool       `json:"sampled" db:"sampled"`
	ComputedAt *time.Time `json:"computedAt" db:"computed_at"`
}

const quotaSQL = `select q.tenant_id::text as tenant, q.granted, q.max_rows, q.max_bytes, q.rows, q.bytes, q.sampled, q.computed_at
	from queen.kv_quota_refresh_v1(nullif($1::text, '')::uuid[]) as q order by q.tenant_id`

// Run is called by kong.
func (c *quotaShow) Run(ctx context.Context, s streams) error {
	conn, err := c.conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	names := make([]string, len(c.Tenants))
	for i, t := range c.Tenants {
		names[i] = string(t)
	}
	list := ""
	if len(names) > 0 {
		list = "{" + strings.Join(names, ",") + "}"
	}
	rows, err := conn.Query(ctx, quotaSQL, list)
	if err != nil {
		return withRemedy("quota", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByName[quotaLine])
	if err != nil {
		return withRemedy("quota", err)
	}
	if c.JSON {
		out := json.NewEncoder(s.out)
		for _, l := range lines {
			if err := out.Encode(l); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tROWS\tMAX ROWS\tBYTES\tMAX BYTES\tMEASURED")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s%d\t%s\t%s%d\t%s\t%s\n", l.Tenant, about(l), l.Rows, bound(l.MaxRows), about(l), l.Bytes, bound(l.MaxBytes), when(l.ComputedAt))
	}
	return w.Flush()
}

// about marks an estimate.
func about(l quotaLine) string {
	if l.Sampled {
		return "~"
	}
	return ""
}

func bound(n *int64) string {
	if n == nil {
		return "no bound"
	}
	return strconv.FormatInt(*n, 10)
}

func when(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

type quotaSet struct {
	database
	Tenant   aTenant `arg:"" help:"Whose."`
	MaxRows  *int64  `help:"How many rows; not given: no bound. 0 allows nothing." env:"KV_SWEEPER_QUOTA_MAX_ROWS"`
	MaxBytes *int64  `help:"How many bytes; not given: no bound. 0 allows nothing." env:"KV_SWEEPER_QUOTA_MAX_BYTES"`
}

// Validate is called by kong.
func (c *quotaSet) Validate() error {
	if c.MaxRows == nil && c.MaxBytes == nil {
		return usage("--max-rows, --max-bytes or both are needed; quota clear takes a quota away")
	}
	if c.MaxRows != nil && *c.MaxRows < 0 || c.MaxBytes != nil && *c.MaxBytes < 0 {
		return usage("--max-rows and --max-bytes must not be negative")
	}
	return nil
}

// Run is called by kong.
func (c *quotaSet) Run(ctx context.Context, s streams) error {
	if err := c.set(ctx, c.Tenant, c.MaxRows, c.MaxBytes); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s: rows %s, bytes %s\n", c.Tenant, bound(c.MaxRows), bound(c.MaxBytes))
	return nil
}

type quotaClear struct {
	database
	Tenant aTenant `arg:"" help:"Whose."`
}

// Run is called by kong.
func (c *quotaClear) Run(ctx context.Context, s streams) error {
	if err := c.set(ctx, c.Tenant, nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s: no quota\n", c.Tenant)
	return nil
}

func (d *database) set(ctx context.Context, tenant aTenant, rows, bytes *int64) error {
	conn, err := d.conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "select queen.kv_quota_set_v1($1::text::uuid, $2::bigint, $3::bigint)", string(tenant), rows, bytes)
	if sweeper.ClassOf(err) == sweeper.Rights { // quotas take another level than sweeping
		return fmt.Errorf("quota: %w: the owner of the schema grants it: select queen.kv_grant_v1('the role', 'admin')", err)
	}
	return withRemedy("quota", err)
}
