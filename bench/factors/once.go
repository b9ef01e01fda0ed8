package main

import (
	"context"
	"fmt"

	"github.com/queenkv/queenkv/bench/internal/effect"
)

// once is one transaction that inserts a row. Where keys are duplicates the transaction alone would insert rows again: onceDup leaves it
// out, and compares with the marker table.
var (
	once = op{name: "once", inserts: true, sides: []side{
		onceSide("effect alone", effect.Alone), onceSide("marker table", effect.Marked), onceSide(driverName, effect.Once)}}
	onceDup = op{name: "once", inserts: true, sides: once.sides[1:]}
)

func onceSide(name string, run effect.Run) side {
	return side{name, func(ctx context.Context, db db, w *worker) error {
		duplicate := w.duplicate()
		var key string
		if duplicate {
			key = doneKey(w.random.IntN(doneKeys))
		} else {
			key = w.fresh()
		}
		replayed, err := run(ctx, db, key)
		if err == nil && replayed != duplicate {
			err = fmt.Errorf("%s: replayed is %t", key, replayed)
		}
		return err
	}}
}
