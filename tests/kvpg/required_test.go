package kvpg_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/tests/testdb"
)

func TestRequiredOfEveryWrite(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	ns := freshSpace()
	long := strings.Repeat("v", 5000)
	must[kvpg.Verdict](t)(kvpg.Put(t.Context(), conn, ns, "long", long, kvpg.Forever(), nil))
	zero := int64(0)
	cases := map[string]struct {
		op     kvpg.Op
		reason kvpg.Reason
	}{
		"put":         {kvpg.PutOp(ns, "long", 1, kvpg.Forever(), &kvpg.PutOptions{Expect: kvpg.ExpectAbsent(), Required: true}), kvpg.ReasonExists},
		"putIfAbsent": {kvpg.PutIfAbsentOp(ns, "long", 1, kvpg.Forever(), &kvpg.PutIfAbsentOptions{Required: true}), kvpg.ReasonExists},
		"delete":      {kvpg.DeleteOp(ns, "none", &kvpg.DeleteOptions{Required: true}), kvpg.ReasonAbsent},
		"incr":        {kvpg.IncrOp(ns, "none", 1, kvpg.Forever(), &kvpg.IncrOptions{Max: &zero, Required: true}), kvpg.ReasonLimit},
		"touch":       {kvpg.TouchOp(ns, "none", kvpg.Forever(), &kvpg.TouchOptions{Required: true}), kvpg.ReasonAbsent},
	}
	for name, c := range cases {
		_, err := kvpg.Apply(t.Context(), conn, c.op)
		var p *kvpg.PreconditionError
		if !errors.As(err, &p) {
			t.Errorf("%s: got %v, want a PreconditionError", name, err)
			continue
		}
		onLong := p.Key == "long"
		if p.Op != name || p.Reason != c.reason || p.ValueTruncated != onLong || p.Value != nil || p.Version.IsZero() == onLong {
			t.Errorf("%s: got %+v, want %s; the 5,000 bytes are not told", name, p, c.reason)
		}
	}
}
