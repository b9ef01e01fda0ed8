package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/queenkv/queenkv/sweeper"
)

// metrics are what /metrics shows. Their names are a contract: the dashboard and the alert rules in deploy/ are tested
// against them.
type metrics struct {
	registry  *prometheus.Registry
	steps     *prometheus.CounterVec
	deleted   prometheus.Counter
	seconds   *prometheus.HistogramVec
	batch     prometheus.Gauge
	unpruned  prometheus.Gauge
	capped    prometheus.Gauge
	lag       prometheus.Gauge
	errors    *prometheus.CounterVec
	success   *prometheus.GaugeVec
	perTenant *tenants
}

const (
	kindExpire = "expire"
	kindUsage  = "usage"
)

func newMetrics(tenantsMax int) *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kv_sweeper_steps_total", Help: "Steps that were committed, by kind: expire or usage."}, []string{"kind"}),
		deleted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kv_sweeper_rows_deleted_total", Help: "Expired rows that this process deleted."}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kv_sweeper_step_seconds", Help: "Time of a step from BEGIN to COMMIT, by kind.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}}, []string{"kind"}),
		batch:    gauge("kv_sweeper_batch_rows", "How many rows the last step of expiry might delete."),
		unpruned: gauge("kv_sweeper_unpruned_rows", "Expired rows left, as far as the last step looked."),
		capped:   gauge("kv_sweeper_unpruned_capped", "1 when there may be more than kv_sweeper_unpruned_rows."),
		lag:      gauge("kv_sweeper_lag_seconds", "How long ago the oldest row expired that is left; 0 when none is."),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kv_sweeper_errors_total", Help: "Steps that failed, by class of the error."}, []string{"class"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kv_sweeper_last_success_timestamp_seconds",
			Help: "When the last step succeeded, by kind; at the start, the time of the start."}, []string{"kind"}),
		perTenant: &tenants{most: tenantsMax},
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kv_sweeper_build_info", Help: "1; the label is the version."}, []string{"version"})
	build.WithLabelValues(version()).Set(1)
	m.registry.MustRegister(m.steps, m.deleted, m.seconds, m.batch, m.unpruned, m.capped, m.lag, m.errors, m.success, m.perTenant, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Series are there from the start, or the first increase of a counter would not be seen.
	for _, kind := range []string{kindExpire, kindUsage} {
		m.steps.WithLabelValues(kind)
		m.seconds.WithLabelValues(kind)
		m.success.WithLabelValues(kind).SetToCurrentTime()
	}
	for _, class := range sweeper.Classes() {
		m.errors.WithLabelValues(string(class))
	}
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *metrics) step(s sweeper.Step) {
	m.steps.WithLabelValues(kindExpire).Inc()
	m.seconds.WithLabelValues(kindExpire).Observe(s.Took.Seconds())
	m.success.WithLabelValues(kindExpire).SetToCurrentTime()
	m.deleted.Add(float64(s.Deleted))
	m.batch.Set(float64(s.Allowed))
	m.unpruned.Set(float64(s.Unpruned))
	m.capped.Set(boolean(s.Capped))
	m.lag.Set(s.Lag.Seconds())
}

func (m *metrics) usage(s sweeper.UsageStep) {
	m.steps.WithLabelValues(kindUsage).Inc()
	m.seconds.WithLabelValues(kindUsage).Observe(s.Took.Seconds())
	m.success.WithLabelValues(kindUsage).SetToCurrentTime()
}

func (m *metrics) failed(e *sweeper.Error) { m.errors.WithLabelValues(string(e.Class)).Inc() }

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
