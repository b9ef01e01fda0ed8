package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxStoredKey is the most that a key of queen.kv holds, in bytes.
const maxStoredKey = 2048

// storedKey makes one key of queen.kv from a principal and its Idempotency-Key, so that no two pairs give the same:
//
//	p:5:alice:8e03978e-40d5-43e8-bc93-6894a57f9324    the length of the principal, the principal, the key
//	h:3f0a...                                         SHA-256 of both, where that is too long or no text
//
// The keys of a principal can be listed by their prefix, "p:5:alice:".
func storedKey(scope, key string) string {
	plain := "p:" + strconv.Itoa(len(scope)) + ":" + scope + ":" + key
	if len(plain) <= maxStoredKey && utf8.ValidString(plain) && strings.IndexByte(plain, 0) < 0 {
		return plain
	}
	return "h:" + hex.EncodeToString(hashOf([]byte(scope), []byte(key)))
}

// fingerprint tells one request from another that reuses its key: by the method, the target as it was sent (path and query) and
// the body.
func fingerprint(r *http.Request, body []byte) []byte {
	target := r.RequestURI
	if target == "" { // a request that no server read
		target = r.URL.RequestURI()
	}
	return hashOf([]byte(r.Method), []byte(target), body)
}

// hashOf is the SHA-256 of some parts, each behind its length: no two lists of as many parts read alike.
func hashOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	return h.Sum(nil)
}
