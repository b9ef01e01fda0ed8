package kvpg

import (
	"errors"
	"strconv"
)

// Version identifies one write of one key. It is good for one thing: to be compared for equality, in [ExpectVersion] or
// with ==. Versions are not ordered and not counted: a later write may carry the smaller number. No version is issued
// twice for a key, not even when the key expired and was made again.
//
// The zero Version is the version of a key that is not there.
type Version struct {
	n int64
}

// IsZero reports whether v is the version of a key that is not there.
func (v Version) IsZero() bool { return v.n == 0 }

// String gives v as decimal digits, which [ParseVersion] reads: for an ETag, a hidden form field, a log.
func (v Version) String() string { return strconv.FormatInt(v.n, 10) }

// MarshalText is [Version.String]: in JSON a Version is a string, so that no JavaScript number rounds it.
func (v Version) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, v.n, 10), nil }

// UnmarshalText is [ParseVersion].
func (v *Version) UnmarshalText(text []byte) error {
	parsed, err := ParseVersion(string(text))
	if err == nil {
		*v = parsed
	}
	return err
}

// ParseVersion reads what [Version.String] wrote, and nothing else: no sign, no space, no leading zero.
func ParseVersion(s string) (Version, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return Version{}, errors.New("kvpg: not a version: " + strconv.Quote(clip(s)))
	}
	return Version{n}, nil
}

// Expect is what a write demands of the key's current state. The zero Expect demands nothing.
type Expect struct {
	set bool
	v   Version
}

// ExpectAbsent demands that the key is not there (or has expired).
func ExpectAbsent() Expect { return Expect{set: true} }

// ExpectVersion demands that the key is there with exactly the version v, as a read or an earlier write gave it. With the
// zero Version, which such a read gives for a key that is not there, it is [ExpectAbsent].
func ExpectVersion(v Version) Expect { return Expect{set: true, v: v} }

func (e Expect) wire() *int64 {
	if !e.set {
		return nil
	}
	return &e.v.n
}
