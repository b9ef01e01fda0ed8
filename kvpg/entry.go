package kvpg

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Entry is a live key as it is stored.
type Entry struct {
	Key string

	// Value is the value's JSON text. JSON null is the four bytes null. Numbers are as exact as they are stored: decode into
	// int64, json.Number or a decimal type, since a plain any makes them float64. It is nil where a page was asked for keys
	// only.
	Value json.RawMessage

	Version Version

	// ExpiresAt is the instant from which the key is no longer there; the zero Time means never.
	ExpiresAt time.Time

	// UpdatedAt is when the value was last written; Touch leaves it.
	UpdatedAt time.Time
}

// Int64 reads the value as a whole number that fits int64, as Incr keeps them. Any other value is an error.
func (e Entry) Int64() (int64, error) { return int64Of(e.Value) }

// Lookup is an Entry that may not be there.
type Lookup struct {
	// Entry holds the Key that was asked for even when it was not found.
	Entry

	Found bool
}

// Page is one page of a prefix.
type Page struct {
	// Entries are in ascending byte order of their keys.
	Entries []Entry

	// Truncated says that more keys may follow; NextAfter is then the cursor that leads on, and else empty.
	Truncated bool
	NextAfter string
}

// int64Of takes numbers by value: 60.0 is 60, as everywhere in the contract.
func int64Of(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	// jsonb writes numbers without an exponent, so a Rat stays about as long as the text; one with an exponent is not jsonb's,
	// and could be long without end.
	if len(text) > 0 && !strings.ContainsAny(text, "eE") && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') {
		r, ok := new(big.Rat).SetString(text)
		if ok && r.IsInt() && r.Num().IsInt64() {
			return r.Num().Int64(), nil
		}
	}
	return 0, errors.New("kvpg: the value is not a whole number that fits int64: " + strconv.Quote(clip(text)))
}
