-- kv_sweep_plan_v1: the first state of kv_sweep_v1, from its arguments. Errors: kv_bad_request.
--
-- A call may end before all tenants are measured, so it goes on after the one that was measured last, and comes round.
create or replace function queen.kv_sweep_plan_v1(
  p_seconds integer, p_max_rows integer, p_max_tenants integer, p_stay boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_expire_fault_v1('{0}', null, p_max_rows, null);
  v_after uuid;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  elsif coalesce(p_seconds, 0) not between 1 and 86400 then
    perform queen.kv_refuse_v1('kv_bad_request p_seconds must be from 1 to 86400');
  elsif coalesce(p_max_tenants, -1) < 0 then
    perform queen.kv_refuse_v1('kv_bad_request p_max_tenants must be at least 1, or 0 to measure nothing');
  end if;
  select u.tenant_id into v_after
  from queen.kv_usage as u
  where u.computed_at <= clock_timestamp()
  order by u.computed_at desc, u.tenant_id desc
  limit 1;
  return jsonb_build_object(
    'until', clock_timestamp() + make_interval(secs => p_seconds),
    'half', clock_timestamp() + make_interval(secs => p_seconds / 2.0), 'maxRows', p_max_rows, 'maxTenants', p_max_tenants,
    'stay', coalesce(p_stay, true), 'do', 'expire', 'from', null, 'found', 0, 'pause', 0, 'took', 0,
    'measured', p_max_tenants = 0, 'after', v_after, 'wrapped', v_after is null);
end;
$$;
comment on function queen.kv_sweep_plan_v1(integer, integer, integer, boolean) is 'The first state of kv_sweep_v1, from its arguments.';
