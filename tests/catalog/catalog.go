// Package catalog lists the schema queen as the catalogs describe it, to compare databases.
package catalog

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// listing.sql gives rows of (kind, name, detail) in order.
//
//go:embed listing.sql
var listing string

// List returns one text of everything in the schema queen: columns, constraints, indexes,
// options, sequences, types, policies, triggers, grants, comments, and every function's full
// definition. Two databases with the same text hold the same schema. Left out are tern's
// table queen.schema_version, which an installed database has not, and data.
func List(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(ctx, listing)
	if err != nil {
		return "", fmt.Errorf("list the schema: %w", err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var kind, name, detail string
		if err := rows.Scan(&kind, &name, &detail); err != nil {
			return "", fmt.Errorf("list the schema: %w", err)
		}
		// A name starts a line, its details are indented: a diff then says what it is about.
		fmt.Fprintf(&b, "%s %s\n", kind, name)
		for line := range strings.Lines(strings.TrimRight(detail, "\n")) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("list the schema: %w", err)
	}
	return b.String(), nil
}
