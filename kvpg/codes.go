package kvpg

// Code names one kind of failure, and is an error itself, so that both of these read well:
//
//	errors.Is(err, kvpg.ErrBadKey)
//	switch kvErr.Code { case kvpg.ErrBadKey: ... }
type Code string

// Error gives the code.
func (c Code) Error() string { return "kvpg: " + string(c) }

// The codes of the SQL functions. Where the driver can tell before it sends anything, it gives the same code.
const (
	ErrBadRequest          Code = "kv_bad_request"
	ErrUnknownOp           Code = "kv_unknown_op"
	ErrUnknownField        Code = "kv_unknown_field"
	ErrTenantNotAnInput    Code = "kv_tenant_not_an_input"
	ErrBadNamespace        Code = "kv_bad_namespace"
	ErrBadKey              Code = "kv_bad_key"
	ErrKeyTooLarge         Code = "kv_key_too_large"
	ErrPrefixRequired      Code = "kv_prefix_required"
	ErrExpiryNotSpecified  Code = "kv_expiry_not_specified"
	ErrBadTTL              Code = "kv_bad_ttl"
	ErrBadExpect           Code = "kv_bad_expect"
	ErrBadNumber           Code = "kv_bad_number"
	ErrValueTooLarge       Code = "kv_value_too_large"
	ErrTooManyOps          Code = "kv_too_many_ops"
	ErrTooManyKeys         Code = "kv_too_many_keys"
	ErrGetPrefixNotAllowed Code = "kv_get_prefix_not_allowed_in_transaction"

	// ErrPreconditionFailed comes as a [PreconditionError], from a write that was Required and lost.
	ErrPreconditionFailed Code = "kv_precondition_failed"

	// ErrContended: the key changed under the call sixteen times. The transaction is lost; [IsRetryable].
	ErrContended Code = "kv_contended"

	// ErrOnceLost: the marker that [Once] set was gone when it came to store the result. The transaction is lost.
	ErrOnceLost Code = "kv_once_lost"

	// ErrLeaseLost: the lease is not this holder's any more. [Lease.Guard] gives it, and the transaction is lost; so does
	// Hold of package kvpg/lease.
	ErrLeaseLost Code = "kv_lease_lost"
)

// The codes of the driver.
const (
	// ErrSchema: the database has no queen.kv schema, or one that this driver can't use. The message says what to do.
	ErrSchema Code = "kv_schema"

	// ErrOnceMismatch: the key was used with another fingerprint, or one of the two calls gave none.
	ErrOnceMismatch Code = "kv_once_mismatch"

	// ErrOnceUnfinished: somebody committed between the marker and the result. Whether the effect happened is unknown, and it is
	// never run again. Delete the key to allow it.
	ErrOnceUnfinished Code = "kv_once_unfinished"

	// ErrOnceReentry: the same key is being run further up in this very transaction.
	ErrOnceReentry Code = "kv_once_reentry"

	// ErrOnceForeign: the key holds a value that Once did not write.
	ErrOnceForeign Code = "kv_once_foreign"

	// ErrOnceBusy: another transaction has the key, and OnceOptions.Busy asked not to wait for it. Nothing was written.
	ErrOnceBusy Code = "kv_once_busy"

	// ErrOnceStoredError: the outcome that is stored is an error. It comes as an [OnceStoredError], with the bytes.
	ErrOnceStoredError Code = "kv_once_stored_error"

	// ErrCommitUnknown: [RunTx] sent COMMIT and was not told how it ended, so that the transaction may be committed or not. The
	// error wraps the cause. What ran under [Once] is safe to run again with the same key; everything else has to be looked at.
	ErrCommitUnknown Code = "kv_commit_unknown"
)
