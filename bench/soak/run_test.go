package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/queenkv/queenkv/bench/internal/server"
	"github.com/queenkv/queenkv/tests/testdb"
)

// A run of six turnovers in four seconds, in pages that are filled to 70%: each figure is one that such a run can have, and the report
// shows it.
func TestRun(t *testing.T) {
	bin, err := server.Binaries()
	if err != nil {
		testdb.NotRun(t, "a short soak: no PostgreSQL binaries to start a server with")
	}
	s := sizes{minutes: 1, live: 350, turnovers: 6, clients: 2, counters: 4, rounds: 1, settings: []string{"fillfactor", "truncate"}}
	i := slices.IndexFunc(settings, func(s setting) bool { return s.name == "fillfactor" })
	loose := variant{"fillfactor", "fillfactor 70", settings[i].values[3:]}
	p := planOf(700*time.Millisecond, s.turnovers)
	r, err := one(t.Context(), bin, loose, s, p)
	if err != nil {
		t.Fatal(err)
	}
	if want := int(s.rate(p) * p.steady.Seconds()); len(r.steady) != want {
		t.Errorf("%d calls were made at the fixed rate, want %d", len(r.steady), want)
	}
	f := r.figures()
	for name, is := range map[string]bool{
		"calls at full speed":                              f.burst > 0,
		"counters were HOT, not all":                       r.updated > 0 && f.hot > 0.5 && f.hot <= 1,
		"live rows, and no multiple of what the rate says": f.live > 0 && f.live < float64(3*s.live), // late calls come in bursts
		"larger than packed":                               f.times > 1 && f.times < 20,
		"the sweeper ran":                                  r.swept > int64(s.live) && r.failed == 0,
		"autovacuum ran":                                   f.vacuums > 0,
		"some WAL":                                         f.wal > 100 && f.wal < 100_000,
		"reads at ebb":                                     f.ebbMax > 0,
		"locks were looked at in each phase":               len(r.locks) == 3 && r.locks[0].looks > 0 && r.locks[1].looks > 0 && r.locks[2].looks > 0,
		"at ebb all has expired":                           len(r.ebb) > 0 && r.samples[len(r.samples)-1].At > p.steady+p.burst,
	} {
		if !is {
			t.Errorf("not so: %s; %+v, locks %+v", name, f, r.locks)
		}
	}
	all := &soak{sizes: s, plan: p, have: r.have, about: r.about, names: []string{defaultName, loose.name, lastName},
		variants: map[string]variant{defaultName: {name: defaultName}, loose.name: loose, lastName: {name: lastName}},
		runs:     map[string][]*raw{defaultName: {r}, loose.name: {r}, lastName: {r}}}
	all.outcomes = []outcome{{loose, f, judge([]figures{f}, f)}}
	all.last = outcome{variant{name: lastName}, f, judge([]figures{f}, f)}
	text := all.report()
	for _, want := range []string{"| default, run 1 |", "| fillfactor 70 |", "fillfactor = 100", "CACHE 1000", "Keep the settings"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	dir := t.TempDir()
	files, err := all.plot(dir)
	if err != nil || len(files) != 4 { // of fillfactor two; truncate has no run
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", file, err)
		}
	}
}
