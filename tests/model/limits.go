package model

// Limits are the numbers of the contract, in bytes, pieces and milliseconds.
type Limits struct {
	NamespaceBytes, KeyBytes int
	ValueBytes, ValueDepth   int
	Ops, OpsInWire           int
	Keys, KeysInWire         int
	Page, PageMax            int
	ReadBytes                int
	TTLMillis                int64
	DetailBytes              int
}

// Contract is what a plain installation has.
var Contract = Limits{
	NamespaceBytes: 64, KeyBytes: 2048,
	ValueBytes: 65536, ValueDepth: 1000,
	Ops: 256, OpsInWire: 64,
	Keys: 4096, KeysInWire: 256,
	Page: 100, PageMax: 1000,
	ReadBytes:   4 << 20,
	TTLMillis:   3155760000 * 1000,
	DetailBytes: 4096,
}
