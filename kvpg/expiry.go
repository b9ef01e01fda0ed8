package kvpg

import "time"

// maxTTL is 36,525 days, the contract's longest time to live.
const maxTTL = 3_155_760_000 * time.Second

// Expiry says how long a written key lives. There is no default and the zero Expiry is refused
// ([ErrExpiryNotSpecified]): forever has to be said.
type Expiry struct {
	ttl  time.Duration
	kind expiryKind
}

type expiryKind uint8

const (
	expiryUnset expiryKind = iota
	expiryTTL
	expiryForever
)

// TTL lets the key live for d from the instant of the write, rounded up to whole milliseconds. An operation refuses a d
// that is not above zero or is longer than 100 years ([ErrBadTTL]).
func TTL(d time.Duration) Expiry { return Expiry{ttl: d, kind: expiryTTL} }

// Forever lets the key live until it is deleted.
func Forever() Expiry { return Expiry{kind: expiryForever} }

// check gives the milliseconds to send, 0 for forever.
func (e Expiry) check() (ms int64, fault *Error) {
	switch e.kind {
	case expiryForever:
		return 0, nil
	case expiryTTL:
		return ttlMillis(e.ttl)
	default:
		return 0, refuse(ErrExpiryNotSpecified, "an expiry is needed: TTL(d) or Forever()")
	}
}

// ttlMillis rounds up: a key must not die before its time.
func ttlMillis(d time.Duration) (int64, *Error) {
	if d <= 0 {
		return 0, refuse(ErrBadTTL, "a time to live must be above zero, not "+d.String())
	}
	if d > maxTTL {
		return 0, refuse(ErrBadTTL, "a time to live is at most 100 years, not "+d.String()+"; Forever() has no end")
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond), nil
}
