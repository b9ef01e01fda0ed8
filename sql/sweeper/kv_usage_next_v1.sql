-- kv_usage_next_v1: the tenant after p_after, in the order of tenants; NULL: there is none. A tenant is one who has a row, or whose
-- rows were measured once: his last measurement must go to zero when they are gone.
create or replace function queen.kv_usage_next_v1(p_after uuid) returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
begin
  if p_after is null then
    return least(
      (select kv.tenant_id from queen.kv order by kv.tenant_id limit 1),
      (select u.tenant_id from queen.kv_usage as u order by u.tenant_id limit 1));
  end if;
  return least(
    (select kv.tenant_id from queen.kv where kv.tenant_id > p_after order by kv.tenant_id limit 1),
    (select u.tenant_id from queen.kv_usage as u where u.tenant_id > p_after order by u.tenant_id limit 1));
end;
$$;
comment on function queen.kv_usage_next_v1(uuid) is 'The next tenant to measure after p_after; NULL when there is none.';
