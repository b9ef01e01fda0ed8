// Package handles runs every operation of the driver over every handle that it takes: the same checks, from one list, over the
// handles of another list.
//
//   - handle_test.go says what a handle is, pgx_test.go and sql_test.go make them: pgx's in all five execution modes,
//     database/sql's with pgx's adapter and with lib/pq, on sessions with settings that change how values are written.
//   - suite_test.go has the list of checks, and runs it; the checks are in the files named after what they look at.
//     A new operation of the driver is one more check.
//   - bouncer_test.go starts a real PgBouncer in transaction pooling, pooling_test.go runs the suite through it with what works
//     there, and shows what doesn't.
//
// Versions start above 2^53, so that each check is also one of versions that no float64 holds.
package handles
