package sweepergo

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/queenkv/queenkv/tests/testdb"
)

// get asks a running program.
func (r *running) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// metrics are the families that /metrics shows, read with Prometheus's own reader.
func (r *running) metrics(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	_, body := r.get(t, "/metrics")
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// metric is the value of a series by its name and its labels, as name{a="b"}; false when it is not there.
func (r *running) metric(t *testing.T, series string) (float64, bool) {
	t.Helper()
	name, want, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	for _, m := range r.metrics(t)[name].GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+`="`+l.GetValue()+`"`)
		}
		if strings.Join(labels, ",") == want {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()), true
		}
	}
	return 0, false
}

// quick are flags for a loop that doesn't keep a test waiting.
var quick = []string{"--min-idle", "20ms", "--max-idle", "50ms", "--min-retry", "20ms", "--max-retry", "50ms", "--usage-every", "100ms"}

func TestMetricsAndHealth(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 300)
	role := grantee(t, db, "sweeper")
	r := start(t, connection(db.URLAs(t, role)), append(quick, "--tenants-max", "2")...)
	ready := func() bool { status, _ := r.get(t, "/readyz"); return status == http.StatusOK }
	eventually(t, "ready", ready)
	eventually(t, "300 rows deleted", func() bool { v, _ := r.metric(t, "kv_sweeper_rows_deleted_total"); return v == 300 })
	eventually(t, "600 rows are left to the default tenant", func() bool {
		v, _ := r.metric(t, `kv_sweeper_tenant_rows{tenant="00000000-0000-0000-0000-000000000001"}`)
		return v == 600
	})
	for series, least := range map[string]float64{
		`kv_sweeper_steps_total{kind="expire"}`: 1, `kv_sweeper_steps_total{kind="usage"}`: 1, `kv_sweeper_step_seconds{kind="expire"}`: 1,
		`kv_sweeper_batch_rows`: 1, `kv_sweeper_unpruned_rows`: 0, `kv_sweeper_unpruned_capped`: 0, `kv_sweeper_lag_seconds`: 0,
		`kv_sweeper_build_info{version="v0.0.0-test"}`: 1, `kv_sweeper_errors_total{class="connection"}`: 0, `kv_sweeper_tenants`: 1,
	} {
		if v, found := r.metric(t, series); !found || v < least {
			t.Errorf("%s is %v (there: %v)", series, v, found)
		}
	}
	if v, _ := r.metric(t, `kv_sweeper_last_success_timestamp_seconds{kind="expire"}`); time.Since(time.Unix(int64(v), 0)) > time.Minute {
		t.Errorf("the last success was at %v", v)
	}

	// Five tenants: two have a name, and the rest is a sum. Two have a quota.
	db.Exec(t, `insert into queen.kv (tenant_id, namespace, key, value)
		select ('00000000-0000-0000-0000-0000000000b' || n)::uuid, 'many', 'k' || g, '1' from generate_series(1, 4) as n, generate_series(1, 10 * n) as g`)
	db.Exec(t, `select queen.kv_quota_set_v1('00000000-0000-0000-0000-0000000000b4', 50, null), queen.kv_quota_set_v1('00000000-0000-0000-0000-0000000000b1', 1000, 1000000)`)
	eventually(t, "the rest of the tenants", func() bool { v, _ := r.metric(t, `kv_sweeper_tenant_rows{tenant="other"}`); return v == 60 })
	if n := len(r.metrics(t)["kv_sweeper_tenant_rows"].GetMetric()); n != 3 {
		t.Errorf("%d series of tenants, want the two largest and the rest", n)
	}
	eventually(t, "the quota", func() bool {
		v, _ := r.metric(t, `kv_sweeper_quota_ratio{of="rows",tenant="00000000-0000-0000-0000-0000000000b4"}`)
		return v == 0.8
	})
	if n := len(r.metrics(t)["kv_sweeper_quota_ratio"].GetMetric()); n != 2 {
		t.Errorf("%d series of quotas, want two", n)
	}

	// Without its rights it tells why, is not ready, and yet is not to be killed; with them it goes on.
	db.Exec(t, "select queen.kv_grant_v1($1::text::regrole, 'none')", role)
	eventually(t, "not ready", func() bool {
		status, body := r.get(t, "/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "kv_grant_v1")
	})
	if status, _ := r.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz %d", status)
	}
	if v, _ := r.metric(t, `kv_sweeper_errors_total{class="rights"}`); v < 1 {
		t.Errorf("%v errors of rights", v)
	}
	db.Exec(t, "select queen.kv_grant_v1($1::text::regrole, 'sweeper')", role)
	eventually(t, "ready again", ready)

	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := r.status(t); status != 0 || !strings.Contains(r.log.String(), "msg=stopped") {
		t.Errorf("status %d", status)
	}
}

// A server that comes up later than the sweeper is waited for.
func TestRunWaitsForTheServer(t *testing.T) {
	t.Parallel()
	c := testdb.Server(t, nil)
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	r := start(t, connection(c.URL()), quick...)
	eventually(t, "it waits", func() bool { return strings.Contains(r.log.String(), "waiting for the server") })
	if status, _ := r.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz %d", status)
	}
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready", func() bool { status, _ := r.get(t, "/readyz"); return status == http.StatusOK })
}
