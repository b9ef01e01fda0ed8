// Package chart draws the plots of the benchmarks, as SVG.
package chart

import (
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// A Series is a line of a plot: its name in the legend, and its points from left to right.
type Series struct {
	Name string
	X, Y []float64
}

// A Chart is a plot and where it goes.
type Chart struct {
	Path    string // of the SVG; its folder is made
	Title   string
	X, Y    string // what the axes show, with units
	LogX    bool
	LogY    bool      // only for numbers above 0; else the axis begins at 0
	Ticks   []string  // Lines: names for the x values 0, 1, 2, ... instead of numbers
	Targets []float64 // horizontal lines, dashed: aims
}

const width, height = 18 * vg.Centimeter, 9 * vg.Centimeter

// Lines draws a line for each series.
func (c Chart) Lines(series ...Series) error {
	p := c.empty()
	for i, s := range series {
		xys := make(plotter.XYs, len(s.X))
		for j := range xys {
			xys[j] = plotter.XY{X: s.X[j], Y: s.Y[j]}
		}
		line, points, err := plotter.NewLinePoints(xys)
		if err != nil {
			return err
		}
		line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		points.Color, points.Shape, points.Radius = plotutil.Color(i), plotutil.Shape(i), vg.Points(2)
		p.Add(line, points)
		p.Legend.Add(s.Name, line, points)
	}
	if c.Ticks != nil {
		p.NominalX(c.Ticks...)
		p.X.Min, p.X.Max = -0.3, float64(len(c.Ticks))-0.7 // room for the first name and the last
	}
	return c.save(p)
}

// Bars draws a group of bars for each of the names: the i-th bar of a group is of series i, whose Y has a number for each name.
func (c Chart) Bars(names []string, series ...Series) error {
	p := c.empty()
	bar := vg.Points(400 / float64(len(names)*len(series)+len(names)))
	for i, s := range series {
		bars, err := plotter.NewBarChart(plotter.Values(s.Y), bar)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = plotutil.Color(i), 0
		bars.Offset = bar * vg.Length(float64(i)-float64(len(series)-1)/2)
		p.Add(bars)
		p.Legend.Add(s.Name, bars)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(names))-0.4
	return c.save(p)
}

func (c Chart) empty() *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Legend.Top, p.Legend.XOffs, p.BackgroundColor = true, -vg.Points(6), color.White
	p.Add(plotter.NewGrid())
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	} else {
		p.Y.Min = 0
	}
	for _, y := range c.Targets {
		aim := plotter.NewFunction(func(float64) float64 { return y })
		aim.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
		p.Add(aim)
		p.Y.Max = max(p.Y.Max, y)
	}
	return p
}

func (c Chart) save(p *plot.Plot) error {
	if c.LogY {
		p.Y.Max *= 3 // room for the legend
	} else {
		p.Y.Max *= 1.25
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return err
	}
	return p.Save(width, height, c.Path)
}
