package kvpg

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxKeyBytes = 2048
	maxKeys     = 4096
)

// The checks here are the ones that must not be left to the server: text that PostgreSQL can't hold would come back as an
// error of its own and abort the transaction, and the typed reads check nothing. The other rules live in SQL, but for
// those that a type of this package states (Namespace, Expiry) and what jsonb can't hold (jsonfault.go).

func checkNamespace(ns Namespace) *Error {
	if ns.name == "" {
		return refuse(ErrBadNamespace, "the zero Namespace: make one with NewNamespace")
	}
	return nil
}

func checkKey(key string) *Error {
	if key == "" {
		return refuse(ErrBadKey, "the key is empty")
	}
	return checkText("the key", key)
}

func checkKeys(keys []string) *Error {
	for i, key := range keys {
		what := "keys[" + strconv.Itoa(i) + "]"
		if key == "" {
			return refuse(ErrBadKey, what+" is empty")
		}
		if fault := checkText(what, key); fault != nil {
			return fault
		}
	}
	return nil
}

func checkPrefix(prefix string) *Error {
	if prefix == "" {
		return refuse(ErrPrefixRequired, "the prefix is empty")
	}
	return checkText("the prefix", prefix)
}

func checkText(what, s string) *Error {
	if len(s) > maxKeyBytes {
		return refuse(ErrKeyTooLarge, what+" has "+strconv.Itoa(len(s))+" bytes; "+strconv.Itoa(maxKeyBytes)+" are allowed")
	}
	if problem := textProblem(s); problem != "" {
		return refuse(ErrBadKey, what+" "+problem)
	}
	return nil
}

// checkAfter is for the cursor, which may have any length: it need not be a key.
func checkAfter(after string) *Error {
	if problem := textProblem(after); problem != "" {
		return refuse(ErrBadRequest, "after "+problem)
	}
	return nil
}

// textProblem says why PostgreSQL can't hold s as text, or nothing.
func textProblem(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "holds U+0000"
	}
	return ""
}
