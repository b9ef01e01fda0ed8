package main

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	tenantRows = prometheus.NewDesc("kv_sweeper_tenant_rows",
		"Rows of a tenant at its last measurement. The largest tenants by bytes have a label of their own; \"other\" is the sum of the rest.",
		[]string{"tenant"}, nil)
	tenantBytes = prometheus.NewDesc("kv_sweeper_tenant_bytes",
		"Bytes of a tenant's values as they are stored, as for kv_sweeper_tenant_rows.", []string{"tenant"}, nil)
	tenantCount = prometheus.NewDesc("kv_sweeper_tenants", "Tenants that were measured.", nil, nil)
	quotaRatio  = prometheus.NewDesc("kv_sweeper_quota_ratio",
		"Usage divided by the quota, of rows and of bytes, for the tenants nearest to it; a quota of 0 counts as 1.", []string{"tenant", "of"}, nil)
)

// tenants shows the last measurement: at most most tenants under a name, so that a database of many makes no more series.
type tenants struct {
	most int
	last atomic.Pointer[[]prometheus.Metric]
}

// Describe is for the registry.
func (t *tenants) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{tenantRows, tenantBytes, tenantCount, quotaRatio} {
		ch <- d
	}
}

// Collect is for the registry.
func (t *tenants) Collect(ch chan<- prometheus.Metric) {
	if last := t.last.Load(); last != nil {
		for _, m := range *last {
			ch <- m
		}
	}
}

type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const tenantsSQL = `
with ranked as (
	select u.tenant_id, u.rows, u.bytes, row_number() over (order by u.bytes desc, u.tenant_id) as rank from queen.kv_usage as u
)
select case when rank <= $1::text::bigint then tenant_id::text else 'other' end as tenant, sum(rows)::bigint, sum(bytes)::bigint, count(*)
from ranked group by 1`

const ratiosSQL = `
select r.tenant_id::text, r.of, r.ratio
from queen.kv_quota_refresh_v1() as q
cross join lateral (values
	(q.tenant_id, 'rows', q.rows / greatest(q.max_rows, 1)::double precision),
	(q.tenant_id, 'bytes', q.bytes / greatest(q.max_bytes, 1)::double precision)) as r (tenant_id, of, ratio)
where r.ratio is not null
order by r.ratio desc, r.tenant_id
limit $1::text::bigint`

// readTenants reads what was measured.
func (m *metrics) readTenants(ctx context.Context, db queryer) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var series []prometheus.Metric
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		series = append(series, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...))
	}
	most := strconv.Itoa(m.perTenant.most)

	var tenant string
	var rows, bytes, count, all int64
	result, err := db.Query(ctx, tenantsSQL, most)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(result, []any{&tenant, &rows, &bytes, &count}, func() error {
		gauge(tenantRows, float64(rows), tenant)
		gauge(tenantBytes, float64(bytes), tenant)
		all += count
		return nil
	})
	if err != nil {
		return err
	}
	gauge(tenantCount, float64(all))

	var of string
	var ratio float64
	if result, err = db.Query(ctx, ratiosSQL, most); err != nil {
		return err
	}
	_, err = pgx.ForEachRow(result, []any{&tenant, &of, &ratio}, func() error {
		gauge(quotaRatio, ratio, tenant, of)
		return nil
	})
	if err != nil {
		return err
	}
	m.perTenant.last.Store(&series)
	return nil
}
