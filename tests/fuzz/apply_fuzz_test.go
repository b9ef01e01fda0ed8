package fuzz

import (
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// FuzzApply gives text that go test -fuzz makes to kv_apply_v1 as its ops. A plain go test tries the first texts of [TestFuzz].
func FuzzApply(f *testing.F) {
	for i := range uint64(200) {
		f.Add(ops(newSource(1, i)))
	}
	db := testdb.New(f, nil)
	rig(f, db)
	w := newWorker(f, db, 0)
	f.Fuzz(func(t *testing.T, ops string) {
		c := call{function: "kv_apply_v1", args: []arg{text("jsonb", ops), text("uuid", w.tenant), null("timestamptz"), null("boolean")}}
		if err := w.play(t.Context(), c); err != nil {
			t.Errorf("%v\n%s", err, shown(t, c))
		}
	})
}
