-- kv_expire_hold_v1: locks the expired rows of a window that nobody holds, at most p_budget, and answers where they lie, and when the
-- first of them expired; NULLs when there are none.
--
-- FOR UPDATE SKIP LOCKED, in the index order of each shard: it waits for nobody, and what somebody holds is left for a later step.
-- Race: a row that somebody renewed and committed after this statement began is locked in its newest form, looked at again,
-- and spared. READ COMMITTED. Above it the snapshot can't be left: 40001 for a row that was changed after it was taken.
create or replace function queen.kv_expire_hold_v1(
  p_shards smallint[], p_from timestamptz, p_before timestamptz, p_now timestamptz, p_share bigint, p_budget bigint,
  out lie tid[], out first timestamptz)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  select array_agg(r.ctid), min(r.expires_at)
  into lie, first
  from (
    select h.ctid, h.expires_at
    from unnest(p_shards) as s (shard)
    cross join lateral (
      select kv.ctid, kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and kv.expires_at < p_before
        and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit p_share
      for update skip locked) as h
    limit p_budget) as r;
end;
$$;
comment on function queen.kv_expire_hold_v1(smallint[], timestamptz, timestamptz, timestamptz, bigint, bigint) is
  'Locks the expired rows of a window that nobody holds, and answers where they lie.';
