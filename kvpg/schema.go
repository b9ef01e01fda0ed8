package kvpg

import (
	"context"
	"strconv"
)

// schemaVersion is the oldest schema that has every function this driver calls.
const schemaVersion = 1

const schemaRemedy = "install or migrate the queen.kv schema in this database (dist/queen_kv.sql, or queenkv.Migrate)"

// CheckSchema reports whether this driver can use the schema in the database: ask it once at start-up. A schema that is
// missing or older than the driver needs is [ErrSchema]; a newer one is fine, since functions are never changed or dropped.
func CheckSchema(ctx context.Context, db DB) error {
	var have int
	if err := db.QueryRow(ctx, `select queen.kv_schema_version_v1()`).Scan(&have); err != nil {
		return mapError(err)
	}
	if have < schemaVersion {
		e := refuse(ErrSchema, "the schema is of version "+strconv.Itoa(have)+" and this driver needs "+
			strconv.Itoa(schemaVersion)+"; "+schemaRemedy)
		e.SQLState, e.Index = "", -1
		return e
	}
	return nil
}
