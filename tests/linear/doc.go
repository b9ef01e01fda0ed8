// Package linear checks that each key is linearizable: what sixteen clients are answered, whatever runs at once, is what they
// would have been answered one after the other, in an order that respects who had returned before whom.
//
// Each client has its own connection and works on a few keys; a sweeper removes expired rows beside them, step by
// step. Every call and answer is recorded with the moments of both, and porcupine searches the order, key by key, against the
// model of one key in model_test.go, which is written from the contract and not from the SQL.
//
// Time is the database's own. A call has one instant, somewhere between its start and its end, and nobody outside knows
// which: where the expiry of a key lies in between, the call may have seen the key alive or dead, and where it doesn't, it
// may not choose. Versions are opaque: a new one is whatever the answer says, but it must be new.
package linear
