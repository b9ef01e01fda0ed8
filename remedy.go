package queenkv

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// remedies say what to do about an SQLSTATE that installing meets in practice.
var remedies = map[string]string{
	"55P03": "another session holds a lock that installing needs; nothing was changed: " +
		"end its transaction (pg_stat_activity shows the oldest), or try again",
	"42501": "the role needs CREATE on the database (GRANT CREATE ON DATABASE name TO role), " +
		"and must own the schema queen and what is in it where they exist",
	"25006": "the server is a standby, or the session is read-only: connect to the primary",
	"57014": "installing waits for other installers, and statement_timeout counts that: raise it for this connection",
}

// withRemedy adds the remedy, and the server's hint, to a database error.
func withRemedy(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	if pg.Hint != "" {
		err = fmt.Errorf("%w: %s", err, pg.Hint)
	}
	if remedy, ok := remedies[pg.Code]; ok {
		err = fmt.Errorf("%w: %s", err, remedy)
	}
	return err
}
