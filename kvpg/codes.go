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

	// ErrOnceStoredError: the stored result is marked as an error, which SQL callers of kv_once_end_v1 can do. The bytes are in
	// the OnceResult beside the error.
	ErrOnceStoredError Code = "kv_once_stored_error"
)
