package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/queenkv/queenkv/bench/internal/report"
)

// about tells when, where and with what sizes the numbers were made.
func (b *bench) about(ctx context.Context) (string, error) {
	settings, err := b.server.Settings(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("- %s, `%s`\n- %s\n- PostgreSQL: %s\n",
		time.Now().UTC().Format(time.DateOnly), b.size.command(), report.Machine(), settings), nil
}

// duration tells where the time of the run went.
func (b *bench) duration() string {
	return fmt.Sprintf("- %.0f minutes in all; loaded: %s\n", time.Since(b.began).Minutes(), strings.Join(b.loads, ", "))
}

const tableHead = `| %s | operation | contender | calls/s | p50, µs | p99, µs | ratio | least to most | aim | WAL bytes a call |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|
`

// tables are the lines, a table for each group of cells.
func tables(lines []line) string {
	var b strings.Builder
	for len(lines) > 0 {
		group := lines[0].cell.group
		n := slices.IndexFunc(lines, func(l line) bool { return l.cell.group != group })
		if n < 0 {
			n = len(lines)
		}
		fmt.Fprintf(&b, "\n### %s\n\n"+tableHead, group, strings.ToLower(group))
		for _, l := range lines[:n] {
			b.WriteString(l.row())
		}
		if group == "Rows" {
			b.WriteString(growth(lines[:n]))
		}
		lines = lines[n:]
	}
	return b.String()
}

func (l line) row() string {
	ratio, spread, wal := "", "", ""
	if !l.first {
		ratio, spread = fmt.Sprintf("%.2f", l.ratio), fmt.Sprintf("%.2f to %.2f", l.lowest, l.highest)
	}
	if l.writes {
		wal = fmt.Sprintf("%.1f", l.wal)
	}
	name := l.op
	if l.op == batch.name {
		name = fmt.Sprintf("%d puts in a call", l.cell.batch)
	}
	return fmt.Sprintf("| %s | %s | %s | %.0f | %.0f | %.0f | %s | %s | %s | %s |\n",
		l.cell.factor, name, l.side, l.perSecond, l.p50, l.p99, ratio, spread, aim(l.cell.aims[l.op+"/"+l.side], l.ratio), wal)
}

// aim shows the least that a ratio may be; 0: none was set.
func aim(least, ratio float64) string {
	switch {
	case least == 0:
		return ""
	case ratio < least:
		return fmt.Sprintf("≥ %.2f (missed)", least)
	}
	return fmt.Sprintf("≥ %.2f", least)
}

// growth compares a call's time in the biggest table with that in the smallest.
func growth(lines []line) string {
	var b strings.Builder
	b.WriteString("\nWhat a call takes in the big table, in times of what it takes in the small one; aim: at most 1.50.\n\n" +
		"| operation | contender | small, µs | big, µs | big / small |\n|---|---|---:|---:|---:|\n")
	half := len(lines) / 2
	for i, small := range lines[:half] {
		big := lines[half+i]
		ratio := fmt.Sprintf("%.2f", big.micros()/small.micros())
		if big.micros() > 1.5*small.micros() {
			ratio += " (missed)"
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.0f | %s |\n", small.op, small.side, small.micros(), big.micros(), ratio)
	}
	return b.String()
}
