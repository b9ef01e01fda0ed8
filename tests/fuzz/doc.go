// Package fuzz sends calls that no client means to send, and many that one does, to the functions of the schema queen.
//
// The promise: whatever the arguments are, the answer is the function's or an error with a code of the contract. A raw error
// of PostgreSQL (22P02, 22003, 54000, 54001, 21000, XX000 ...) is a fault, unless the argument alone, cast to the parameter's
// type, raises the same one: then the function was never called, and it is counted apart. After a refusal the session goes on,
// no row of the caller is another than before, and, where the ops themselves were refused, no version was drawn. The memory
// that a backend takes stays bounded.
//
// A call is made from a seed and its number alone, and each worker plays its calls in order in a tenant of its own:
//
//	KV_PROOF_FUZZ_INPUTS  how many calls, 20,000 by default
//	KV_PROOF_FUZZ_SEED    the seed, 1 by default
//
// A fault is printed as text for psql. [FuzzApply] gives the ops of a call to go test -fuzz.
package fuzz
