package kvpg

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// encodeValue gives the JSON text of a value, or why PostgreSQL could not keep it as it is meant.
//
// encoding/json replaces an invalid byte of a Go string by the six characters \ufffd, without an error. A real U+FFFD it writes
// raw, so those six characters are either such a damage or come from a json.RawMessage or a MarshalJSON method that may
// well mean them. Only then is the Go value searched for a string that is not valid UTF-8.
func encodeValue(v any) (json.RawMessage, *Error) {
	raw, err := marshal(v)
	if err != nil {
		fault := refuse(ErrBadRequest, "the value can't be encoded: "+clip(err.Error()))
		fault.cause = err
		return nil, fault
	}
	if offset, problem := findFault(raw); problem != "" {
		return nil, valueFault(pathAt(raw, offset), problem)
	}
	if bytes.Contains(raw, []byte(`\ufffd`)) {
		if path, bad := findInvalidString(reflect.ValueOf(v)); bad {
			return nil, valueFault(path, "a string that is not valid UTF-8")
		}
	}
	return raw, nil
}

func valueFault(path, problem string) *Error {
	fault := refuse(ErrBadRequest, problem)
	fault.Path = clip(path)
	return fault
}
