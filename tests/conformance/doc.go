// Package conformance plays the contract's cases, testdata/*.json, against a database.
//
// The cases say what queen.kv_apply_v1 must answer and which rows must be alive afterwards;
// testdata/README.md describes their format. [Load] reads a file, a [Player] plays one case
// and says how the answer differs. How the function is called is the player's [Caller], so
// that the same cases can be played through anything that takes a call.
//
// A number is never read as a float: it stays the text it was written as, from the file to
// the database and back.
package conformance
