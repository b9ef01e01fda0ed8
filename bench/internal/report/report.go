// Package report is what the benchmarks share that write their figures into a page: the machine, medians, and the part of the page
// between two marker lines.
package report

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Median of at least one number.
func Median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}

// Machine tells what the numbers were made on, and where Linux tells it what else the machine was doing.
func Machine() string {
	text := fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return text
	}
	one, _, _ := strings.Cut(string(load), " ")
	return text + ", load average before the run " + one
}

// A Block is the part of a page that make target Target writes. Without a Path there is no page: nothing is checked or written.
type Block struct{ Path, Target string }

func (b Block) begin() string {
	return "<!-- " + b.Target + ": begin; written by make " + b.Target + " -->\n"
}

func (b Block) end() string { return "<!-- " + b.Target + ": end -->\n" }

// Check fails early, before minutes of measuring, where the page has no markers.
func (b Block) Check() error {
	if b.Path == "" {
		return nil
	}
	_, _, err := b.outside()
	return err
}

// Write replaces what stands between the markers.
func (b Block) Write(text string) error {
	if b.Path == "" {
		return nil
	}
	head, tail, err := b.outside()
	if err != nil {
		return err
	}
	return os.WriteFile(b.Path, []byte(head+"\n"+text+"\n"+tail), 0o644)
}

// outside returns the page's text up to and with the first marker, and from the second on.
func (b Block) outside() (head, tail string, err error) {
	text, err := os.ReadFile(b.Path)
	if err != nil {
		return "", "", err
	}
	head, rest, ok1 := strings.Cut(string(text), b.begin())
	_, tail, ok2 := strings.Cut(rest, b.end())
	if !ok1 || !ok2 {
		return "", "", errors.New(b.Path + " lacks the marker lines " + b.begin() + b.end())
	}
	return head + b.begin(), b.end() + tail, nil
}
