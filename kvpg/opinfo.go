package kvpg

import (
	"bytes"
	"encoding/json"
)

// OpInfo tells what an [Op] asks for. It is for layers around [Apply] that decide before anything is sent, such as package
// kvpg/quota; changing it changes nothing of the op.
type OpInfo struct {
	// Op is get, getMany, getPrefix, put, putIfAbsent, delete, incr or touch, and empty for the zero Op.
	Op        string
	Namespace Namespace

	// Key is empty for getMany and getPrefix.
	Key string

	// Value is what put and putIfAbsent would store, and nil for the others and where the value was refused.
	Value json.RawMessage

	// Delta is incr's.
	Delta int64

	// Replaces says that the op applies to a live key alone: it expects a version.
	Replaces bool
}

// Info tells what the op asks for. It says nothing about whether the op is valid: Apply does.
func (op Op) Info() OpInfo {
	info := OpInfo{Op: op.wire.Op, Namespace: op.ns, Key: op.wire.Key, Value: bytes.Clone(op.wire.Value)}
	if op.wire.Delta != nil {
		info.Delta = *op.wire.Delta
	}
	info.Replaces = op.wire.Expect != nil && *op.wire.Expect > 0
	return info
}
