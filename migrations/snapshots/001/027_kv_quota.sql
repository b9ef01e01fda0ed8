-- 027_kv_quota.sql: what an operator allows a tenant, and what an enforcer reads. A quota is soft and late by design: no write path
-- looks at it. kv_usage_step_v1 measures, an enforcer in the application compares, and refuses.

-- kv_quota_set_v1: sets what a tenant may store; NULL is no bound, and both NULL take the quota away. 0 allows nothing.
-- Answers whether the tenant has a quota now. Race: the last one to commit. Errors: kv_bad_request.
create or replace function queen.kv_quota_set_v1(
  p_tenant uuid, p_max_rows bigint, p_max_bytes bigint, p_now timestamptz default null) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant is null then
    perform queen.kv_refuse_v1('kv_bad_request the tenant must not be NULL');
  elsif p_max_rows < 0 or p_max_bytes < 0 then
    perform queen.kv_refuse_v1('kv_bad_request a quota must not be negative; NULL is no bound');
  elsif p_now is not null and not queen.kv_now_ok_v1(p_now) then
    perform queen.kv_refuse_v1('kv_bad_request p_now must be finite and within the years 1 to 9899');
  end if;
  if p_max_rows is null and p_max_bytes is null then
    delete from queen.kv_quota as q where q.tenant_id = p_tenant;
    return false;
  end if;
  insert into queen.kv_quota (tenant_id, max_rows, max_bytes, updated_at)
  values (p_tenant, p_max_rows, p_max_bytes, coalesce(p_now, clock_timestamp()))
  on conflict (tenant_id) do update set
    max_rows = excluded.max_rows, max_bytes = excluded.max_bytes, updated_at = excluded.updated_at;
  return true;
end;
$$;
comment on function queen.kv_quota_set_v1(uuid, bigint, bigint, timestamptz) is
  'Sets what a tenant may store: NULL is no bound, both NULL take the quota away.';

-- kv_quota_refresh_v1: what an enforcer compares: limits beside the last measurement, from one snapshot, in no order.
--
-- p_tenants NULL: every tenant with a quota. Otherwise a row for each tenant named, once: granted says whether he has a quota;
-- without one max_rows and max_bytes are NULL, which is no bound. rows and bytes are 0 and computed_at is NULL when he was
-- never measured; a write after computed_at may not be in them.
create or replace function queen.kv_quota_refresh_v1(p_tenants uuid[] default null)
returns table (tenant_id uuid, granted boolean, max_rows bigint, max_bytes bigint, rows bigint, bytes bigint, sampled boolean, computed_at timestamptz)
language sql stable parallel safe
begin atomic
  select t.tenant_id, q.tenant_id is not null, q.max_rows, q.max_bytes,
    coalesce(u.rows, 0), coalesce(u.bytes, 0), coalesce(u.sampled, false), u.computed_at
  from (
    select k.tenant_id from queen.kv_quota as k where p_tenants is null
    union
    select n.tenant_id from unnest(p_tenants) as n (tenant_id) where n.tenant_id is not null
  ) as t
  left join queen.kv_quota as q on q.tenant_id = t.tenant_id
  left join queen.kv_usage as u on u.tenant_id = t.tenant_id;
end;
comment on function queen.kv_quota_refresh_v1(uuid[]) is
  'Limits beside the last measurement: of the tenants named, or of all who have a quota.';
