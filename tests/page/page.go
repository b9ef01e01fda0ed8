// Package page reads the pages of the documentation, and compares what they say with what came back.
package page

import (
	"fmt"
	"os"
	"strings"
)

// A Block is fenced by three backquotes in a page.
type Block struct {
	Line       int // of the page, where the text begins
	Kind, Text string
	Adjoins    bool // only blank lines stand between this block and the one before
}

// Blocks reads the fenced blocks of a page.
func Blocks(path string) ([]Block, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []Block
	var inside, adjoins bool
	for i, line := range strings.Split(string(page), "\n") {
		kind, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !inside:
			out = append(out, Block{Line: i + 2, Kind: kind, Adjoins: adjoins})
			inside = true
		case isFence:
			inside, adjoins = false, true
		case inside:
			out[len(out)-1].Text += line + "\n"
		case line != "":
			adjoins = false
		}
	}
	if inside {
		return nil, fmt.Errorf("%s: the block that begins at line %d has no end", path, out[len(out)-1].Line)
	}
	return out, nil
}
