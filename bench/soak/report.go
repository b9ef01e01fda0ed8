package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	lineHead = `
| | of the calls due, made | closed loop, calls/s | p99, ms | p99 of counters, ms | HOT share of counters | WAL, bytes an op | dead rows | table, MB | indexes, MB | of the live set | growth | ACCESS EXCLUSIVE, ms | pages given back | longest read at ebb, ms | vacuums |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`
	verdictHead = `
| | better than the default, outside the band | worse, outside the band | aims met that the default misses | aims missed that it meets | taken |
|---|---|---|---|---|---|
`
)

func line(name string, f figures) string {
	const mb = 1e6
	return fmt.Sprintf("| %s | %.1f%% | %.0f | %.2f | %.2f | %.1f%% | %.0f | %.0f | %.1f | %.1f | %.2fx | %+.1f%% | %.0f | %.0f | %.1f | %.0f |\n",
		name, 100*f.rate, f.burst, f.p99, f.countP99, 100*f.hot, f.wal, f.dead, f.table/mb, f.indexes/mb, f.times, 100*f.growth,
		f.locked, f.given, f.ebbMax, f.vacuums)
}

func (s *soak) report() string {
	var text strings.Builder
	fmt.Fprintf(&text, "- %s, `%s go run ./soak` in bench/, %d runs in %v\n- %s\n- PostgreSQL: %s%s\n- installed: %s\n",
		s.begun.Format(time.DateOnly), s.sizes.command(), s.count(), time.Since(s.begun).Round(time.Minute), s.machine, s.about, others(), s.have)
	base := medians(s.figures(defaultName))
	fmt.Fprintf(&text, "- each run: mean TTL %v, %d turnovers in %v at %.0f calls/s, %.0f ops/s; %v at full speed; %v with reads alone\n",
		s.plan.ttl, s.sizes.turnovers, s.plan.steady, s.sizes.rate(s.plan), s.sizes.rate(s.plan)*opsPerCall, s.plan.burst, s.plan.ebb)
	fmt.Fprintf(&text, "- live at the end of the default's runs: %.0f rows, packed %.1f MB; the oldest expired row that a step of the sweeper left: %.1f s\n",
		base.live, base.packed/1e6, base.late)

	for _, name := range s.names {
		for _, r := range s.runs[name] {
			if r.failed > 0 {
				fmt.Fprintf(&text, "- %s: %d steps of the sweeper failed, and were tried again; the last with: %v\n", name, r.failed, r.failure)
			}
		}
	}

	text.WriteString("\nEvery run of the default, in order, and each value alone:\n" + lineHead)
	for i, f := range s.figures(defaultName) {
		text.WriteString(line(fmt.Sprintf("default, run %d", i+1), f))
	}
	for _, o := range s.outcomes {
		text.WriteString(line(o.variant.name, o.figures))
	}
	text.WriteString(line(s.last.variant.name, s.last.figures))

	text.WriteString("\nThe band, of the default's runs:\n\n| | median | and as much to each side is no difference |\n|---|---:|---:|\n")
	for _, j := range judgedBy {
		middle, half := j.band(s.figures(defaultName))
		fmt.Fprintf(&text, "| %s | %.4g | %.3g |\n", j.name, middle, half)
	}

	text.WriteString("\nBy the rule:\n" + verdictHead)
	for _, o := range append(slices.Clone(s.outcomes), s.last) {
		taken := ""
		if o.verdict.taken && slices.ContainsFunc(s.taken, func(t outcome) bool { return t.variant.name == o.variant.name }) {
			taken = "yes"
		}
		list := func(names []string) string { return strings.Join(names, ", ") }
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s |\n", o.variant.name, list(o.verdict.better), list(o.verdict.worse),
			list(o.verdict.gained), list(o.verdict.missed), taken)
	}

	text.WriteString("\n| aim | default, median | all taken |\n|---|---|---|\n")
	for _, a := range aims {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", a.name, kept(a.met(base)), kept(a.met(s.last.figures)))
	}
	text.WriteString("\n**" + recommend(s.taken, s.last) + "**\n")
	return text.String()
}

func kept(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

func (s *soak) count() (n int) {
	for _, runs := range s.runs {
		n += len(runs)
	}
	return n
}

// others are the settings of serverSettings that server.Settings does not tell.
func others() (text string) {
	for _, name := range slices.Sorted(maps.Keys(serverSettings)) {
		if strings.Contains(name, "autovacuum_") {
			text += ", " + name + " = " + serverSettings[name]
		}
	}
	return text
}
