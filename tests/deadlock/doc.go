// Package deadlock checks what the contract says of locks. Within a call writes lock their keys in one order, so that calls
// alone in their transactions are never in a deadlock, whatever keys they name and in whatever order; answers come in the order
// of the input. No order holds between two calls of one transaction: there a deadlock is possible, comes as an error that
// says so, and the transaction run again has its effects once.
package deadlock
