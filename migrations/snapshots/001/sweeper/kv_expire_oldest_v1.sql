-- kv_expire_oldest_v1: when the oldest row expired that is still there, from p_from on; NULL: none is.
create or replace function queen.kv_expire_oldest_v1(p_shards smallint[], p_from timestamptz, p_now timestamptz) returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return (
    select min(o.expires_at)
    from unnest(p_shards) as s (shard)
    cross join lateral (
      select kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit 1) as o);
end;
$$;
comment on function queen.kv_expire_oldest_v1(smallint[], timestamptz, timestamptz) is
  'When the oldest row expired that is still there, from p_from on; NULL when none is.';
