package sweepergo

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"

	"github.com/queenkv/queenkv/tests/testdb"
)

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) (all map[string]rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "prometheus/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	all = map[string]rule{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r
		}
	}
	return all
}

// panelExpressions are the expressions of the dashboard, with Grafana's variables replaced as Grafana would.
func panelExpressions(t *testing.T) (all []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/kv-sweeper.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("an empty panel: %q", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "1m", "$job", ".*").Replace(target.Expr))
		}
	}
	return all
}

// Every expression is one of Prometheus's, over metrics and labels that a running sweeper exports; and the dashboard and the
// alerts leave none of the sweeper's own out.
func TestExpressions(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 10)
	db.Exec(t, "select queen.kv_quota_set_v1(queen.kv_default_tenant_v1(), 1000, 1000)")
	r := start(t, connection(db.URL()), quick...)
	var families = r.metrics(t)
	eventually(t, "all metrics are there", func() bool { families = r.metrics(t); return families["kv_sweeper_quota_ratio"] != nil })

	exported := map[string]map[string]bool{} // labels by name
	for name, f := range families {
		labels := map[string]bool{"job": true, "instance": true} // Prometheus's own
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
		exported[name] = labels
		if f.GetType().String() == "HISTOGRAM" {
			buckets := maps.Clone(labels)
			buckets["le"] = true
			exported[name+"_bucket"], exported[name+"_sum"], exported[name+"_count"] = buckets, labels, labels
		}
	}
	used := map[string]bool{}
	expressions := panelExpressions(t)
	for _, r := range rules(t) {
		if r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
			t.Errorf("%s: incomplete", r.Alert)
		}
		expressions = append(expressions, r.Expr)
	}
	if len(expressions) < 18 {
		t.Errorf("%d expressions", len(expressions))
	}
	for _, e := range expressions {
		for _, fault := range faults(e, exported, used) {
			t.Errorf("%s: %s", e, fault)
		}
	}
	for name := range exported {
		name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "kv_sweeper_") && !used[name] && !used[name+"_bucket"] && name != "kv_sweeper_unpruned_capped" {
			t.Errorf("%s is shown nowhere", name)
		}
	}
	for _, broken := range []string{"sum(kv_sweeper_lag_seconds", "kv_sweeper_lag", `kv_sweeper_lag_seconds{tenant="x"}`, "sum by (tenant) (kv_sweeper_lag_seconds)"} {
		if len(faults(broken, exported, map[string]bool{})) == 0 {
			t.Errorf("%s passes", broken)
		}
	}
}

// faults are what is wrong with an expression.
func faults(text string, exported map[string]map[string]bool, used map[string]bool) (all []string) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return []string{err.Error()}
	}
	labels := map[string]bool{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		known, there := exported[v.Name]
		if !there {
			all = append(all, "no metric "+v.Name)
		}
		used[v.Name] = true
		maps.Copy(labels, known)
		for _, m := range v.LabelMatchers {
			if m.Name != "__name__" && !known[m.Name] {
				all = append(all, v.Name+" has no label "+m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if a, ok := node.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !labels[l] {
					all = append(all, "no label "+l+" to group by")
				}
			}
		}
		return nil
	})
	return all
}

// Each alert's condition is made true, and the metric it looks at moves past its bound.
func TestAlertConditions(t *testing.T) {
	t.Parallel()
	bounds := map[string]float64{}
	for name, r := range rules(t) {
		_, bound, found := strings.Cut(r.Expr, " > ")
		var v float64
		if _, err := fmt.Sscan(bound, &v); !found || err != nil {
			t.Fatalf("%s: no bound in %s", name, r.Expr)
		}
		bounds[name] = v
	}
	made := map[string]func(*testing.T){
		"KVSweeperBehind": func(t *testing.T) {
			db := testdb.New(t, nil)
			fill(t, db, 100)
			holder := db.Conn(t)
			if _, err := holder.Exec(t.Context(), "begin; select from queen.kv for update"); err != nil {
				t.Fatal(err)
			}
			r := start(t, connection(db.URL()), quick...)
			eventually(t, "the lag of rows that another transaction holds", func() bool {
				v, _ := r.metric(t, "kv_sweeper_lag_seconds")
				return v > bounds["KVSweeperBehind"]
			})
			if v, _ := r.metric(t, "kv_sweeper_unpruned_rows"); v != 100 {
				t.Errorf("%v unpruned rows", v)
			}
			if _, err := holder.Exec(t.Context(), "rollback"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "no lag", func() bool { v, _ := r.metric(t, "kv_sweeper_lag_seconds"); return v == 0 })
		},
		"KVSweeperErrors": func(t *testing.T) {
			db := testdb.New(t, nil)
			role := grantee(t, db, "sweeper")
			r := start(t, connection(db.URLAs(t, role)), quick...)
			eventually(t, "ready", func() bool { status, _ := r.get(t, "/readyz"); return status == http.StatusOK })
			db.Exec(t, "select queen.kv_grant_v1($1::text::regrole, 'none')", role)
			eventually(t, "errors", func() bool {
				v, _ := r.metric(t, `kv_sweeper_errors_total{class="rights"}`)
				return v > bounds["KVSweeperErrors"]
			})
		},
		"KVSweeperSilent": silent("expire"),
		"KVUsageStale":    silent("usage"),
		"KVQuotaNear": func(t *testing.T) {
			db := testdb.New(t, nil)
			fill(t, db, 50) // 100 of them live
			db.Exec(t, "select queen.kv_quota_set_v1(queen.kv_default_tenant_v1(), 105, null)")
			r := start(t, connection(db.URL()), quick...)
			series := `kv_sweeper_quota_ratio{of="rows",tenant="00000000-0000-0000-0000-000000000001"}`
			eventually(t, "the ratio", func() bool { v, _ := r.metric(t, series); return v > bounds["KVQuotaNear"] && v < 1 })
			db.Exec(t, "delete from queen.kv")
			eventually(t, "none", func() bool { v, found := r.metric(t, series); return found && v == 0 })
		},
	}
	if a, b := slices.Sorted(maps.Keys(bounds)), slices.Sorted(maps.Keys(made)); !slices.Equal(a, b) {
		t.Fatalf("alerts %v, of which %v are tried", a, b)
	}
	for name, f := range made {
		t.Run(name, func(t *testing.T) { t.Parallel(); f(t) })
	}
}

// silent takes the rights away: the time of the last success stands still, so that time() - it grows past any bound.
func silent(kind string) func(*testing.T) {
	return func(t *testing.T) {
		db := testdb.New(t, nil)
		role := grantee(t, db, "sweeper")
		r := start(t, connection(db.URLAs(t, role)), quick...)
		series := fmt.Sprintf("kv_sweeper_last_success_timestamp_seconds{kind=%q}", kind)
		value := func() float64 { v, _ := r.metric(t, series); return v }
		moves := func(what string) {
			before := value()
			eventually(t, what, func() bool { return value() > before })
		}
		moves("it moves while steps succeed")
		db.Exec(t, "select queen.kv_grant_v1($1::text::regrole, 'none')", role)
		errors := func() float64 { v, _ := r.metric(t, `kv_sweeper_errors_total{class="rights"}`); return v }
		eventually(t, "the first errors", func() bool { return errors() > 1 })
		before, seen := value(), errors()
		eventually(t, "more errors", func() bool { return errors() > seen+5 })
		if value() != before {
			t.Errorf("%s moved without a success", series)
		}
		db.Exec(t, "select queen.kv_grant_v1($1::text::regrole, 'sweeper')", role)
		moves("it moves again")
	}
}
