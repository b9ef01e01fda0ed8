package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// sizes are what the flags and the environment say.
type sizes struct {
	rows, small, big, large int
	rounds                  int
	seconds, warm           float64
	out, plots              string
}

// A number is a flag, and the variable KV_BENCH_<NAME> that gives its default.
type number struct {
	name  string
	into  *int
	usual int
	help  string
}

func (s *sizes) numbers() []number {
	return []number{
		{"rows", &s.rows, 1_000_000, "rows in the table of the base cell"},
		{"small", &s.small, 10_000, "rows in the small table"},
		{"big", &s.big, 10_000_000, "rows in the big table, of 16 byte values"},
		{"large", &s.large, 20_000, "rows in the table of 32 KiB values"},
		{"rounds", &s.rounds, 5, "rounds of each operation"},
	}
}

func (s *sizes) register(set *flag.FlagSet) error {
	for _, n := range s.numbers() {
		if text := os.Getenv(variable(n.name)); text != "" {
			value, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("%s=%s: want a number", variable(n.name), text)
			}
			n.usual = value
		}
		set.IntVar(n.into, n.name, n.usual, n.help+"; "+variable(n.name))
	}
	for _, f := range []struct {
		name  string
		into  *float64
		usual float64
		help  string
	}{{"seconds", &s.seconds, 1, "seconds of each run"}, {"warm", &s.warm, 0.3, "seconds of each contender before its first run"}} {
		if text := os.Getenv(variable(f.name)); text != "" {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s=%s: want a number", variable(f.name), text)
			}
			f.usual = value
		}
		set.Float64Var(f.into, f.name, f.usual, f.help+"; "+variable(f.name))
	}
	return nil
}

func variable(name string) string { return "KV_BENCH_" + strings.ToUpper(name) }

// A table must have room for a batch of 256 keys, and enough counters.
func (s *sizes) check() error {
	for _, n := range s.numbers() {
		if n.name != "rounds" && *n.into < 1000 {
			return fmt.Errorf("-%s %d: want at least 1000 rows", n.name, *n.into)
		}
	}
	if s.rounds < 1 || s.seconds <= 0 || s.warm <= 0 {
		return fmt.Errorf("-rounds %d -seconds %v -warm %v: want numbers above 0", s.rounds, s.seconds, s.warm)
	}
	return nil
}

// command is what makes the same measurement again.
func (s *sizes) command() string {
	var b strings.Builder
	for _, n := range s.numbers() {
		fmt.Fprintf(&b, "%s=%d ", variable(n.name), *n.into)
	}
	fmt.Fprintf(&b, "KV_BENCH_SECONDS=%v KV_BENCH_WARM=%v make bench", s.seconds, s.warm)
	return b.String()
}
