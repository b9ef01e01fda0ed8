// Package sweeper holds the tests of the sweeper's SQL: what a step deletes and what it leaves, what it answers, what it costs, and
// who waits for whom; what a measurement tells; the loop for pg_cron; and who may run them.
package sweeper
