package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sizes are what the environment says.
type sizes struct {
	minutes   int      // KV_SOAK_MINUTES: of the whole program
	live      int      // KV_SOAK_LIVE: markers alive at a time
	turnovers int      // KV_SOAK_TURNOVERS: how often the live set is replaced in a run, the first filling included
	clients   int      // KV_SOAK_CLIENTS: connections that call
	counters  int      // KV_SOAK_COUNTERS: counters that are hit, and as many leases
	rounds    int      // KV_SOAK_ROUNDS: runs of each value
	fsync     bool     // KV_SOAK_FSYNC: on or off
	settings  []string // KV_SOAK_SETTINGS: names of the settings to vary, all by default
}

func readSizes() (s sizes, err error) {
	for _, v := range []struct {
		name               string
		into               *int
		usual, least, most int
	}{
		{"KV_SOAK_MINUTES", &s.minutes, 170, 1, 24 * 60},
		{"KV_SOAK_LIVE", &s.live, 100_000, 1000, 100_000_000},
		{"KV_SOAK_TURNOVERS", &s.turnovers, 20, 4, 1000},
		{"KV_SOAK_CLIENTS", &s.clients, 4, 1, 200},
		{"KV_SOAK_COUNTERS", &s.counters, 50, 1, 100_000},
		{"KV_SOAK_ROUNDS", &s.rounds, 1, 1, 100},
	} {
		*v.into = v.usual
		if text := os.Getenv(v.name); text != "" {
			if *v.into, err = strconv.Atoi(text); err != nil || *v.into < v.least || *v.into > v.most {
				return s, fmt.Errorf("%s=%s: want a number from %d to %d", v.name, text, v.least, v.most)
			}
		}
	}
	switch text := os.Getenv("KV_SOAK_FSYNC"); text {
	case "", "on":
		s.fsync = true
	case "off":
	default:
		return s, fmt.Errorf("KV_SOAK_FSYNC=%s: want on or off", text)
	}
	var names []string
	for _, one := range settings {
		names = append(names, one.name)
	}
	s.settings = names
	if text := os.Getenv("KV_SOAK_SETTINGS"); text != "" {
		s.settings = strings.Split(text, ",")
		for _, name := range s.settings {
			if !slices.Contains(names, name) {
				return s, fmt.Errorf("KV_SOAK_SETTINGS: %q is none of %s", name, strings.Join(names, ", "))
			}
		}
	}
	if ttl := s.plan(s.runs()).ttl; ttl < time.Second {
		return s, fmt.Errorf("%d runs of %d turnovers in %d minutes leave a TTL of %v: want at least a second", s.runs(), s.turnovers, s.minutes, ttl)
	}
	return s, nil
}

// command is what makes the same run again.
func (s sizes) command() string {
	fsync := "off"
	if s.fsync {
		fsync = "on"
	}
	return fmt.Sprintf("KV_SOAK_MINUTES=%d KV_SOAK_LIVE=%d KV_SOAK_TURNOVERS=%d KV_SOAK_CLIENTS=%d KV_SOAK_COUNTERS=%d KV_SOAK_ROUNDS=%d KV_SOAK_FSYNC=%s KV_SOAK_SETTINGS=%s",
		s.minutes, s.live, s.turnovers, s.clients, s.counters, s.rounds, fsync, strings.Join(s.settings, ","))
}

// runs is how many the program makes: of each value that is not the default, of the default three, and the last one. Which values
// are the default is known when the schema is installed; that one of each setting is.
func (s sizes) runs() int {
	n := 0
	for _, one := range settings {
		if slices.Contains(s.settings, one.name) {
			n += len(one.values) - 1
		}
	}
	return s.rounds*(n+3) + 1
}

// A plan is the time of one run. All runs have the same.
type plan struct {
	ttl    time.Duration // the mean time to live: of half of it up to one and a half
	steady time.Duration // calls at the fixed rate
	burst  time.Duration // calls as fast as the clients can
	ebb    time.Duration // reads alone, at the rate of all calls: rows expire, nothing is written but by the sweeper
}

// starting is what a run needs besides: initdb, the schema, packing the live rows, stopping.
const starting = 6 * time.Second

func (s sizes) plan(runs int) plan {
	each := time.Duration(s.minutes)*time.Minute/time.Duration(runs) - starting
	return planOf(each/time.Duration(2*s.turnovers+5)*2, s.turnovers)
}

func planOf(ttl time.Duration, turnovers int) plan {
	ttl = ttl.Truncate(time.Millisecond)
	return plan{ttl: ttl, steady: time.Duration(turnovers) * ttl, burst: ttl / 2, ebb: 2 * ttl}
}

// rate is calls a second that keep live markers alive: pattern has the share of markers.
func (s sizes) rate(p plan) float64 {
	markers := float64(s.live) / p.ttl.Seconds()
	return markers / markerBatch / float64(strings.Count(pattern, "M")) * float64(len(pattern))
}
