package kvpg

import "encoding/json"

// Op is one operation of an [Apply] call, made by the constructors below. It is finished when it is made: a value is encoded
// then, and what is wrong with the arguments is kept and comes out of Apply, with the op's index, before anything is
// sent.
type Op struct {
	ns    Namespace
	wire  opWire
	fault *Error
}

// opWire is the JSON of an op, as the contract has it. Key, After and the like are left out when empty: an empty key never
// gets here, and an empty cursor is none.
type opWire struct {
	Op       string          `json:"op"`
	NS       string          `json:"ns"`
	Key      string          `json:"key,omitempty"`
	Keys     []string        `json:"keys,omitzero"`
	Prefix   string          `json:"prefix,omitempty"`
	After    string          `json:"after,omitempty"`
	Limit    int             `json:"limit,omitempty"`
	KeysOnly bool            `json:"keysOnly,omitempty"`
	TTLMs    int64           `json:"ttlMs,omitempty"`
	Forever  bool            `json:"forever,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Expect   *int64          `json:"expect,omitempty"`
	Delta    *int64          `json:"delta,omitempty"`
	Min      *int64          `json:"min,omitempty"`
	Max      *int64          `json:"max,omitempty"`
	Required bool            `json:"required,omitempty"`
}

// GetOp reads a key. Its result is in [Result.Lookup].
func GetOp(ns Namespace, key string) Op { return keyOp("get", ns, key) }

// GetManyOp reads keys within the call's read budget of 4 MiB. Its result is in [Result.Many]. [GetMany] has no budget.
func GetManyOp(ns Namespace, keys []string) Op {
	op := Op{ns: ns, fault: checkNamespace(ns)}
	op.check(func() *Error { return checkKeys(keys) })
	op.wire = opWire{Op: "getMany", NS: ns.name, Keys: append([]string{}, keys...)}
	return op
}

// GetPrefixOp reads a page of the keys that start with prefix. Its result is in [Result.Page]. See [GetPrefix].
func GetPrefixOp(ns Namespace, prefix string, opts *GetPrefixOptions) Op {
	var o GetPrefixOptions
	if opts != nil {
		o = *opts
	}
	op := Op{ns: ns, fault: checkNamespace(ns)}
	op.check(func() *Error { return checkPrefix(prefix) })
	op.check(func() *Error { return checkAfter(o.After) })
	op.wire = opWire{Op: "getPrefix", NS: ns.name, Prefix: prefix, After: o.After, Limit: o.Limit, KeysOnly: o.KeysOnly}
	return op
}

// PutOp is [Put] as an op. Its result is in [Result.Verdict], as are those of the other writes.
func PutOp(ns Namespace, key string, value any, expiry Expiry, opts *PutOptions) Op {
	op := keyOp("put", ns, key)
	op.expiry(expiry)
	op.value(value)
	if opts != nil {
		op.wire.Expect, op.wire.Required = opts.Expect.wire(), opts.Required
	}
	return op
}

// PutIfAbsentOp is [PutIfAbsent] as an op.
func PutIfAbsentOp(ns Namespace, key string, value any, expiry Expiry, opts *PutIfAbsentOptions) Op {
	op := keyOp("putIfAbsent", ns, key)
	op.expiry(expiry)
	op.value(value)
	op.wire.Required = opts != nil && opts.Required
	return op
}

// DeleteOp is [Delete] as an op.
func DeleteOp(ns Namespace, key string, opts *DeleteOptions) Op {
	op := keyOp("delete", ns, key)
	if opts != nil {
		op.wire.Expect, op.wire.Required = opts.Expect.wire(), opts.Required
	}
	return op
}

// IncrOp is [Incr] as an op.
func IncrOp(ns Namespace, key string, delta int64, expiry Expiry, opts *IncrOptions) Op {
	op := keyOp("incr", ns, key)
	op.expiry(expiry)
	op.wire.Delta = &delta
	if opts != nil {
		op.wire.Min, op.wire.Max, op.wire.Required = copyOf(opts.Min), copyOf(opts.Max), opts.Required
	}
	return op
}

// TouchOp is [Touch] as an op.
func TouchOp(ns Namespace, key string, expiry Expiry, opts *TouchOptions) Op {
	op := keyOp("touch", ns, key)
	op.expiry(expiry)
	if opts != nil {
		op.wire.Expect, op.wire.Required = opts.Expect.wire(), opts.Required
	}
	return op
}

func keyOp(name string, ns Namespace, key string) Op {
	op := Op{ns: ns, wire: opWire{Op: name, NS: ns.name, Key: key}, fault: checkNamespace(ns)}
	op.check(func() *Error { return checkKey(key) })
	return op
}

// check keeps the first fault, in the order in which the constructors ask, which is the contract's.
func (op *Op) check(ask func() *Error) {
	if op.fault == nil {
		op.fault = ask()
	}
}

func (op *Op) expiry(expiry Expiry) {
	op.check(func() (fault *Error) {
		op.wire.TTLMs, fault = expiry.check()
		op.wire.Forever = expiry.kind == expiryForever
		return fault
	})
}

func (op *Op) value(value any) {
	op.check(func() (fault *Error) {
		op.wire.Value, fault = encodeValue(value)
		return fault
	})
}

func copyOf(n *int64) *int64 {
	if n == nil {
		return nil
	}
	c := *n
	return &c
}
