// Package quota tests kvpg/quota: over a database, over handles that answer what a test wants, and in a simulation of several processes over
// one table, in which transactions stay open, clocks disagree and readings take time.
package quota
