package kvpg

import (
	"reflect"
	"strings"
	"testing"
)

// TestOpInfo: an op tells what it was made of, valid or not.
func TestOpInfo(t *testing.T) {
	t.Parallel()
	ns := NewNamespace("things").For([16]byte{7})
	info := func(op, key string) OpInfo { return OpInfo{Op: op, Namespace: ns, Key: key} }
	with := func(i OpInfo, change func(*OpInfo)) OpInfo {
		change(&i)
		return i
	}
	value := func(text string) func(*OpInfo) { return func(i *OpInfo) { i.Value = []byte(text) } }
	replaces := func(i *OpInfo) { i.Replaces = true }
	for name, c := range map[string]struct {
		op   Op
		want OpInfo
	}{
		"zero":        {Op{}, OpInfo{}},
		"get":         {GetOp(ns, "k"), info("get", "k")},
		"getMany":     {GetManyOp(ns, []string{"k"}), info("getMany", "")},
		"getPrefix":   {GetPrefixOp(ns, "k", nil), info("getPrefix", "")},
		"put":         {PutOp(ns, "k", "v", Forever(), nil), with(info("put", "k"), value(`"v"`))},
		"put null":    {PutOp(ns, "k", nil, Forever(), nil), with(info("put", "k"), value(`null`))},
		"put absent":  {PutOp(ns, "k", 1, Forever(), &PutOptions{Expect: ExpectAbsent()}), with(info("put", "k"), value(`1`))},
		"put version": {PutOp(ns, "k", 1, Forever(), &PutOptions{Expect: ExpectVersion(Version{5})}), with(with(info("put", "k"), value(`1`)), replaces)},
		"no value":    {PutOp(ns, "k", func() {}, Forever(), nil), info("put", "k")},
		"putIfAbsent": {PutIfAbsentOp(ns, "k", true, Forever(), nil), with(info("putIfAbsent", "k"), value(`true`))},
		"delete":      {DeleteOp(ns, "k", nil), info("delete", "k")},
		"incr":        {IncrOp(ns, "k", -3, Forever(), nil), with(info("incr", "k"), func(i *OpInfo) { i.Delta = -3 })},
		"touch":       {TouchOp(ns, "k", Forever(), &TouchOptions{Expect: ExpectVersion(Version{5})}), with(info("touch", "k"), replaces)},
	} {
		if got := c.op.Info(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestOpInfoIsACopy: what a layer does to what it was told changes nothing of the op.
func TestOpInfoIsACopy(t *testing.T) {
	t.Parallel()
	op := PutOp(NewNamespace("things"), "k", "value", Forever(), nil)
	copy(op.Info().Value, "broken.")
	if text, fault := encodeOps([]Op{op}); fault != nil || !strings.Contains(text, `"value":"value"`) {
		t.Errorf("the op is %s, %v", text, fault)
	}
}
