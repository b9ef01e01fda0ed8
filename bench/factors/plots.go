package main

import (
	"path/filepath"
	"slices"

	"github.com/queenkv/queenkv/bench/internal/chart"
)

// draw makes the plots in a folder.
func draw(folder string, lines []line) error {
	at := func(name string) string { return filepath.Join(folder, "bench-"+name+".svg") }
	puts := chart.Chart{Path: at("clients"), Title: "Puts by clients, client and server on the same cores", X: "clients", Y: "puts/s", Ticks: []string{"1", "8", "32"}}
	if err := puts.Lines(series(lines, put, func(l line) (x, y float64, ok bool) {
		i := map[int]float64{1: 0, 8: 1, 32: 2}
		return i[l.cell.clients], l.perSecond, l.cell.group == "Clients" || l.cell.group == baseGroup
	})...); err != nil {
		return err
	}
	batches := chart.Chart{Path: at("batch"), Title: "Puts in a call, beside one statement by hand", X: "puts in a call", Y: "ratio to by hand", LogX: true, Targets: []float64{0.65}}
	if err := batches.Lines(series(lines, batch, func(l line) (x, y float64, ok bool) {
		return float64(l.cell.batch), l.ratio, l.cell.group == "Batch"
	})...); err != nil {
		return err
	}
	for _, o := range []op{put, get} {
		grown := chart.Chart{Path: at("rows-" + o.name), Title: "A " + o.name + " by rows in the table", X: "rows", Y: "µs a call, 8 clients", LogX: true}
		if err := grown.Lines(series(lines, o, func(l line) (x, y float64, ok bool) {
			return float64(l.cell.rows), l.micros(), l.cell.group == "Rows" || l.cell.factor == "16 B"
		})...); err != nil {
			return err
		}
	}
	shares := chart.Chart{Path: at("duplicates"), Title: "Once by duplicates", X: "% of calls that are duplicates", Y: "transactions/s"}
	return shares.Lines(series(lines, onceDup, func(l line) (x, y float64, ok bool) {
		return float64(l.cell.dup), l.perSecond, l.cell.group == "Duplicates" || l.cell.group == baseGroup
	})...)
}

// series are the contenders of an operation, with a point for each line that has one, from left to right.
func series(lines []line, o op, point func(line) (x, y float64, ok bool)) []chart.Series {
	all := make([]chart.Series, len(o.sides))
	for i, s := range o.sides {
		all[i].Name = s.name
		for _, l := range lines {
			x, y, ok := point(l)
			if !ok || l.op != o.name || l.side != s.name {
				continue
			}
			j := len(all[i].X)
			for j > 0 && all[i].X[j-1] > x {
				j--
			}
			all[i].X, all[i].Y = slices.Insert(all[i].X, j, x), slices.Insert(all[i].Y, j, y)
		}
	}
	return all
}
