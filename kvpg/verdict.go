package kvpg

import (
	"encoding/json"
	"time"
)

// Reason says why a write did not apply. It is empty when it did.
type Reason string

// The reasons there are.
const (
	// ReasonExists: the key had to be absent, and it is there.
	ReasonExists Reason = "exists"
	// ReasonAbsent: the key had to be there, and it is not, or has expired.
	ReasonAbsent Reason = "absent"
	// ReasonVersion: the key is there with another version.
	ReasonVersion Reason = "version"
	// ReasonLimit: the number would leave its bounds.
	ReasonLimit Reason = "limit"
	// ReasonType: the value is not a number.
	ReasonType Reason = "type"
)

// Verdict is the outcome of a write. A write that did not apply is not an error: nothing is rolled back, and the verdict
// shows what stood in the way, so that the loser needs no second round trip.
type Verdict struct {
	Applied bool
	Reason  Reason
	Key     string

	// Value, Version and ExpiresAt are those of one row: of an applied write the ones now stored, of an applied Delete the ones
	// deleted, of any other verdict the ones that made it lose. Where no row is alive they are nil and zero; a stored JSON
	// null is the four bytes null. A zero ExpiresAt beside a Version means that the key lives forever.
	Value     json.RawMessage
	Version   Version
	ExpiresAt time.Time
}

// Int64 reads the value as a whole number that fits int64: after Incr, the counter. Any other value is an error.
func (v Verdict) Int64() (int64, error) { return int64Of(v.Value) }
