package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/queenkv/queenkv/bench/internal/chart"
)

// A plot is a chart, and the contenders that it shows of an operation.
type plot struct {
	chart chart.Chart // its Path is the name alone
	op    op
	point func(line) (x, y float64, ok bool)
}

var plots = []plot{
	{chart.Chart{Path: "clients", Title: "Puts by clients, client and server on the same cores", X: "clients", Y: "puts/s",
		Ticks: []string{"1", "8", "32"}}, put,
		func(l line) (x, y float64, ok bool) {
			i := map[int]float64{1: 0, 8: 1, 32: 2}
			return i[l.cell.clients], l.perSecond, l.cell.group == "Clients" || l.cell.group == baseGroup
		}},
	{chart.Chart{Path: "batch", Title: "Puts in a call, beside one statement by hand", X: "puts in a call", Y: "ratio to by hand",
		LogX: true, Targets: []float64{0.65}}, batch,
		func(l line) (x, y float64, ok bool) {
			return float64(l.cell.batch), l.ratio, l.cell.group == "Batch"
		}},
	{chart.Chart{Path: "rows-put", Title: "A put by rows in the table", X: "rows", Y: "µs a call, 8 clients", LogX: true}, put, byRows},
	{chart.Chart{Path: "rows-get", Title: "A get by rows in the table", X: "rows", Y: "µs a call, 8 clients", LogX: true}, get, byRows},
	{chart.Chart{Path: "duplicates", Title: "Once by duplicates", X: "% of calls that are duplicates", Y: "transactions/s"}, onceDup,
		func(l line) (x, y float64, ok bool) {
			return float64(l.cell.dup), l.perSecond, l.cell.group == "Duplicates" || l.cell.group == baseGroup
		}},
}

func byRows(l line) (x, y float64, ok bool) {
	return float64(l.cell.rows), l.micros(), l.cell.group == "Rows" || l.cell.factor == "16 B"
}

// draw makes the plots in the folder of -plots, and returns the Markdown that shows them in the page of -out.
func draw(s sizes, lines []line) (string, error) {
	if s.plots == "" {
		return "", nil
	}
	text := "\n"
	for _, p := range plots {
		p.chart.Path = filepath.Join(s.plots, "bench-"+p.chart.Path+".svg")
		if err := p.chart.Lines(series(lines, p)...); err != nil {
			return "", err
		}
		link, err := filepath.Rel(filepath.Dir(s.out), p.chart.Path)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("![%s](%s)\n", p.chart.Title, filepath.ToSlash(link))
	}
	return text, nil
}

// series are the contenders of a plot, with a point for each line that has one, from left to right.
func series(lines []line, p plot) []chart.Series {
	all := make([]chart.Series, len(p.op.sides))
	for i, s := range p.op.sides {
		all[i].Name = s.name
		for _, l := range lines {
			x, y, ok := p.point(l)
			if !ok || l.op != p.op.name || l.side != s.name {
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
