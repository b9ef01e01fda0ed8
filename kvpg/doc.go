// Package kvpg is the Go driver of queen.kv, a key-value store that is a table in your own PostgreSQL: what it writes commits
// together with what you write, in your transaction.
package kvpg
