package quota

import (
	"encoding/hex"
	"fmt"

	"github.com/queenkv/queenkv/kvpg"
)

// ErrQuota is what errors.Is finds in every refusal of an [Enforcer]; errors.As finds the *[Error].
const ErrQuota kvpg.Code = "kv_quota"

// Reason says why a write was refused.
type Reason string

// The reasons there are.
const (
	// ReasonRows: the tenant's rows are at their limit, or the call's do not fit under it any more.
	ReasonRows Reason = "rows"
	// ReasonBytes: the same of the bytes of the values.
	ReasonBytes Reason = "bytes"
	// ReasonNoGrant: the tenant has no quota, and [Options.RequireGrant] asks for one.
	ReasonNoGrant Reason = "grant"
	// ReasonStale: the last refresh that succeeded is older than [Options.MaxStale].
	ReasonStale Reason = "stale"
)

// Error is a write that was refused. Nothing was sent: a transaction is as usable as before.
type Error struct {
	Tenant [16]byte
	Reason Reason

	// Limit and Usage are rows or bytes, by the Reason: what the tenant may store, and what it stores as far as this process
	// knows, [Enforcer] says how. Both are 0 where no number is at fault. Usage is below Limit where the call alone would not fit,
	// and where the tenant was over its quota and has not fallen under 90% of it yet.
	Limit, Usage int64
}

// Error tells tenant, limit and usage.
func (e *Error) Error() string {
	text := "kvpg/quota: tenant " + uuid(e.Tenant) + " "
	switch e.Reason {
	case ReasonNoGrant:
		return text + "has no quota"
	case ReasonStale:
		return text + "is refused while quotas can't be refreshed"
	default:
		return text + fmt.Sprintf("is over its quota: %d of %d %s", e.Usage, e.Limit, e.Reason)
	}
}

// Is makes errors.Is(err, ErrQuota) hold.
func (e *Error) Is(target error) bool { return target == error(ErrQuota) }

func uuid(t [16]byte) string {
	x := hex.EncodeToString(t[:])
	return x[0:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}
