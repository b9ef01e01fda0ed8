package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A plot is well-formed XML that shows its title, its axes, and the name of each series.
func TestPlots(t *testing.T) {
	one := Series{Name: "by hand", X: []float64{1, 8, 32}, Y: []float64{10, 20, 15}}
	two := Series{Name: "function", X: []float64{1, 8, 32}, Y: []float64{5, 18, 14}}
	for name, draw := range map[string]func(Chart) error{
		"lines":     func(c Chart) error { return c.Lines(one, two) },
		"bars":      func(c Chart) error { return c.Bars([]string{"1", "8", "32"}, one, two) },
		"log lines": func(c Chart) error { c.LogX, c.LogY = true, true; return c.Lines(one, two) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plots", "p.svg")
			if err := draw(Chart{Path: path, Title: "Puts", X: "clients", Y: "calls/s", Targets: []float64{25}}); err != nil {
				t.Fatal(err)
			}
			text := texts(t, path)
			for _, want := range []string{"Puts", "clients", "calls/s", "by hand", "function"} {
				if !strings.Contains(text, want) {
					t.Errorf("the plot lacks %q", want)
				}
			}
		})
	}
}

// texts returns the words of an SVG.
func texts(t *testing.T, path string) string {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var text strings.Builder
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok {
			text.Write(data)
		}
	}
}
