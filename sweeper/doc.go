// Package sweeper deletes expired rows of queen.kv, and measures what tenants store.
//
// No answer depends on it: an expired row does not exist for any reader or writer. A sweeper frees the disk, and gives
// quotas something to compare with. The program kv-sweeper is this package with flags and metrics.
//
//	s := sweeper.New(pool, nil)
//	err := s.Run(ctx) // until ctx ends
//
// Any number of sweepers may run at once, in any number of processes. There is no leader and no lock: a step takes rows
// that nobody holds, and leaves the others. Each step is one call of queen.kv_expire_step_v1 in a transaction of its own,
// READ COMMITTED, with a statement timeout that lasts for that transaction, so that a pooler between (PgBouncer in
// transaction mode) makes no difference. Such a pooler wants a pool whose DefaultQueryExecMode is
// pgx.QueryExecModeExec or pgx.QueryExecModeCacheDescribe; all of pgx's modes work.
//
// The role needs the level sweeper: select queen.kv_grant_v1('role', 'sweeper').
package sweeper
