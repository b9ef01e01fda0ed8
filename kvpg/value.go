package kvpg

import (
	"encoding/json"
)

// encodeValue gives the JSON text of a value, or why PostgreSQL could not keep it as it is meant.
func encodeValue(v any) (json.RawMessage, *Error) {
	raw, err := marshal(v)
	if err != nil {
		fault := refuse(ErrBadRequest, "the value can't be encoded: "+clip(err.Error()))
		fault.cause = err
		return nil, fault
	}
	return raw, nil
}
