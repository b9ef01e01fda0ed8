package main

import (
	"path/filepath"

	"github.com/queenkv/queenkv/bench/internal/chart"
)

// The plots, as the page shows them: it lies beside the folder that holds them.
const (
	plotOfDrains = "\n![Rows a second of the drains](plots/bench-sweep-drain.svg)\n"
	plotOfPuts   = "\n![How long puts take without the sweep and beside it](plots/bench-sweep-puts.svg)\n"
)

// chartDrains draws the rates of both sides, in a group of bars for each of the names. Without a folder nothing is drawn.
func chartDrains(dir string, names []string, hand, called []float64) error {
	if dir == "" {
		return nil
	}
	return chart.Chart{
		Path: filepath.Join(dir, "bench-sweep-drain.svg"), Title: "Draining expired rows, medians", X: "expiry, rows of a step", Y: "rows/s",
	}.Bars(names, chart.Series{Name: byHand.name, Y: hand}, chart.Series{Name: function.name, Y: called})
}

// chart draws the quantiles of both sides. Without a folder nothing is drawn.
func (m *foregroundRuns) chart(dir string) error {
	if dir == "" {
		return nil
	}
	var lines []chart.Series
	for _, s := range m.sides() {
		line := chart.Series{Name: s.name}
		for i, q := range []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999} {
			line.X, line.Y = append(line.X, float64(i)), append(line.Y, s.median(q))
		}
		lines = append(lines, line)
	}
	return chart.Chart{
		Path: filepath.Join(dir, "bench-sweep-puts.svg"), Title: "Puts without the sweep and beside it, medians over pairs",
		X: "quantile", Y: "ms", LogY: true, Ticks: []string{"p50", "p75", "p90", "p95", "p99", "p99.9"},
	}.Lines(lines...)
}
