package main

import (
	"path/filepath"
	"slices"

	"github.com/queenkv/queenkv/bench/internal/chart"
)

// plot draws the first run of every variant, and returns the files' names.
func (s *soak) plot(dir string) (files []string, err error) {
	add := func(file string, draw func(chart.Chart) error, c chart.Chart) {
		if err == nil {
			c.Path = filepath.Join(dir, file)
			err = draw(c)
			files = append(files, file)
		}
	}
	for _, name := range s.sizes.settings {
		shown := slices.DeleteFunc(slices.Clone(s.names), func(n string) bool { return n != defaultName && s.variants[n].setting != name })
		if len(shown) < 2 {
			continue
		}
		c := chart.Chart{Title: "Table and indexes: " + name, X: "seconds", Y: "MB", Targets: []float64{mostTimes * s.packed() / 1e6}}
		add("soak-size-"+name+".svg", func(c chart.Chart) error { return c.Lines(s.lines(shown, sample.total, 1e6)...) }, c)
		c = chart.Chart{Title: "Dead rows: " + name, X: "seconds", Y: "dead rows"}
		dead := func(one sample) float64 { return float64(one.Dead) }
		add("soak-dead-"+name+".svg", func(c chart.Chart) error { return c.Lines(s.lines(shown, dead, 1)...) }, c)
	}
	last := []string{defaultName, lastName}
	add("soak-size-last.svg", func(c chart.Chart) error { return c.Lines(s.lines(last, sample.total, 1e6)...) },
		chart.Chart{Title: "Table and indexes: the last run", X: "seconds", Y: "MB", Targets: []float64{mostTimes * s.packed() / 1e6}})
	var all, counters chart.Series
	all.Name, counters.Name = "all calls", "counters"
	for _, name := range s.names {
		f := medians(s.figures(name))
		all.Y, counters.Y = append(all.Y, f.p99), append(counters.Y, f.countP99)
		all.X, counters.X = append(all.X, float64(len(all.X))), append(counters.X, float64(len(counters.X)))
	}
	short := make([]string, len(s.names))
	for i := range short {
		short[i] = string(rune('a' + i))
	}
	add("soak-p99.svg", func(c chart.Chart) error { return c.Bars(short, all, counters) },
		chart.Chart{Title: "99th percentile of calls", X: legend(s.names), Y: "ms"})
	return files, err
}

func (s *soak) packed() float64 { return medians(s.figures(defaultName)).packed }

// lines are the steady phase and what came after it, of each variant's first run.
func (s *soak) lines(names []string, of func(sample) float64, unit float64) (list []chart.Series) {
	for _, name := range names {
		series := chart.Series{Name: name}
		samples := s.runs[name][0].samples
		for i := 0; i < len(samples); i += 1 + len(samples)/80 {
			series.X, series.Y = append(series.X, samples[i].At.Seconds()), append(series.Y, of(samples[i])/unit)
		}
		list = append(list, series)
	}
	return list
}

// legend tells which letter is which variant, in lines that fit.
func legend(names []string) (text string) {
	width := 0
	for i, name := range names {
		part := string(rune('a'+i)) + " " + name
		switch {
		case i == 0:
		case width+len(part) > 90:
			text, width = text+"\n", 0
		default:
			text, width = text+", ", width+2
		}
		text, width = text+part, width+len(part)
	}
	return text
}
