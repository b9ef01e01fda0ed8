package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/queenkv/queenkv/tests/cluster"
)

// A soak is the whole program.
type soak struct {
	bin     cluster.Binaries
	sizes   sizes
	plan    plan
	machine string
	begun   time.Time

	have     installed
	about    string
	names    []string // of the variants in the order of their first run
	variants map[string]variant
	runs     map[string][]*raw
	outcomes []outcome // of each variant, without the default
	taken    []outcome
	last     outcome
}

// enoughRate of the calls due must be made by the first run: else hours would be spent to measure an overload.
const enoughRate = 0.9

// all makes the runs: the default and every value, round by round, and what was taken of them.
func (s *soak) all(ctx context.Context) error {
	s.begun = time.Now().UTC()
	s.plan = s.sizes.plan(s.sizes.runs())
	s.variants, s.runs = map[string]variant{}, map[string][]*raw{}
	fmt.Printf("%s\n%d runs with a TTL of %v: %v at %.0f calls/s, %v at full speed, %v with reads alone\n",
		s.sizes.command(), s.sizes.runs(), s.plan.ttl, s.plan.steady, s.sizes.rate(s.plan), s.plan.burst, s.plan.ebb)
	for round := range s.sizes.rounds {
		// What the default is shows the first run.
		list := []variant{{name: defaultName}}
		for i := 0; i < len(list); i++ {
			if err := s.run(ctx, list[i]); err != nil {
				return err
			}
			if i == 0 {
				if rate := s.runs[defaultName][0].figures().rate; rate < enoughRate {
					return fmt.Errorf("the clients made %.0f%% of the calls that were due: "+
						"take fewer rows (KV_SOAK_LIVE), more minutes or a machine with less to do", 100*rate)
				}
				list = order(variants(s.have, s.sizes.settings))
				if round%2 == 1 {
					reverse(list)
				}
			}
		}
	}
	defaults := s.figures(defaultName)
	for _, name := range s.names {
		if name != defaultName {
			f := medians(s.figures(name))
			s.outcomes = append(s.outcomes, outcome{s.variants[name], f, judge(defaults, f)})
		}
	}
	s.taken = choose(s.outcomes)
	v := combined(s.taken)
	if err := s.run(ctx, v); err != nil {
		return err
	}
	f := medians(s.figures(v.name))
	s.last = outcome{v, f, judge(defaults, f)}
	return nil
}

// reverse the variants between the runs of the default, which stay in their places.
func reverse(list []variant) {
	var at []int
	for i, v := range list {
		if v.name != defaultName {
			at = append(at, i)
		}
	}
	for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
		list[at[i]], list[at[j]] = list[at[j]], list[at[i]]
	}
}

func (s *soak) run(ctx context.Context, v variant) error {
	r, err := one(ctx, s.bin, v, s.sizes, s.plan)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	s.have, s.about = r.have, r.about
	if _, ok := s.variants[v.name]; !ok {
		s.variants[v.name], s.names = v, append(s.names, v.name)
	}
	s.runs[v.name] = append(s.runs[v.name], r)
	fmt.Print(time.Now().UTC().Format("15:04:05 "), strings.ReplaceAll(line(v.name, r.figures()), "|", " "))
	if r.failed > 0 {
		fmt.Printf("  %d steps of the sweeper failed, the last with: %v\n", r.failed, r.failure)
	}
	return nil
}

func (s *soak) figures(name string) (list []figures) {
	for _, r := range s.runs[name] {
		list = append(list, r.figures())
	}
	return list
}
