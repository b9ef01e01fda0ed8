package kvpg

import "context"

// PutOptions are the options of [Put].
type PutOptions struct {
	Expect   Expect // no precondition by default
	Required bool   // a lost precondition is a *PreconditionError and aborts the transaction
}

// PutIfAbsentOptions are the options of [PutIfAbsent].
type PutIfAbsentOptions struct {
	Required bool // a lost precondition is a *PreconditionError and aborts the transaction
}

// DeleteOptions are the options of [Delete].
type DeleteOptions struct {
	Expect   Expect // no precondition by default, but that the key is there
	Required bool   // a lost precondition is a *PreconditionError and aborts the transaction
}

// IncrOptions are the options of [Incr].
type IncrOptions struct {
	Min      *int64 // the least result of a decrease; no bound by default
	Max      *int64 // the greatest result of an increase; no bound by default
	Required bool   // a lost precondition is a *PreconditionError and aborts the transaction
}

// TouchOptions are the options of [Touch].
type TouchOptions struct {
	Expect   Expect // no precondition by default, but that the key is there
	Required bool   // a lost precondition is a *PreconditionError and aborts the transaction
}

// Put stores value under key, with a new version and a new expiry, whatever was there, or with Expect only over what was
// expected. A lost precondition is ReasonExists, ReasonAbsent or ReasonVersion.
//
// value is encoded by encoding/json; a json.RawMessage is stored as it is, and nil is JSON null. Refused before anything is
// sent, with the path of the place: what can't be encoded, U+0000, a lone surrogate, a string that is not valid UTF-8
// (encoding/json would silently change it), numbers beyond PostgreSQL's numeric and nesting above 1,000 ([ErrBadRequest]).
// PostgreSQL keeps values as jsonb: members may change their order, and of two with one name the last stays. A value of more
// than 65,536 bytes of jsonb text is [ErrValueTooLarge].
func Put(ctx context.Context, db DB, ns Namespace, key string, value any, expiry Expiry, opts *PutOptions) (Verdict, error) {
	r, err := applyOne(ctx, db, PutOp(ns, key, value, expiry, opts))
	return r.Verdict, err
}

// PutIfAbsent stores value when the key is not there or has expired; else the verdict is ReasonExists and shows the value that
// is. Of several transactions that try it on one key exactly one applies: the others wait for it to end when nothing is
// committed under the key, and one of them applies when it rolls back. A key that is committed and alive makes nobody wait.
//
// For value and its faults see [Put].
func PutIfAbsent(ctx context.Context, db DB, ns Namespace, key string, value any, expiry Expiry, opts *PutIfAbsentOptions) (Verdict, error) {
	r, err := applyOne(ctx, db, PutIfAbsentOp(ns, key, value, expiry, opts))
	return r.Verdict, err
}

// Delete removes a key, and the verdict shows what it removed. Where no key is alive the verdict is ReasonAbsent; with
// ExpectAbsent it applies there and removes nothing.
func Delete(ctx context.Context, db DB, ns Namespace, key string, opts *DeleteOptions) (Verdict, error) {
	r, err := applyOne(ctx, db, DeleteOp(ns, key, opts))
	return r.Verdict, err
}

// Incr adds delta to the number under key, where an absent key counts as 0; [Verdict.Int64] reads the result. The expiry is
// used only when the key is made by this call: a live counter keeps its own, so that a window closes.
//
// A step that would leave the bounds is not taken at all (ReasonLimit), and neither is one on a value that is not a number
// (ReasonType). A step back towards the bounds is always allowed. Without bounds the number may outgrow int64; it stays exact,
// and Int64 then reports the error.
func Incr(ctx context.Context, db DB, ns Namespace, key string, delta int64, expiry Expiry, opts *IncrOptions) (Verdict, error) {
	r, err := applyOne(ctx, db, IncrOp(ns, key, delta, expiry, opts))
	return r.Verdict, err
}

// Touch gives a live key a new expiry and leaves value, version and UpdatedAt as they are. Where no key is alive the verdict
// is ReasonAbsent.
func Touch(ctx context.Context, db DB, ns Namespace, key string, expiry Expiry, opts *TouchOptions) (Verdict, error) {
	r, err := applyOne(ctx, db, TouchOp(ns, key, expiry, opts))
	return r.Verdict, err
}
