-- kv_expire_guess_v1: chooses the next window of time to sweep from four of the shards, where the backlog is large: it reads a sixteenth
-- of what kv_expire_look_v1 would. Keys fall into shards at random, so what a few shards hold tells about the others.
--
-- The window is p_from <= expires_at < before. Its end is where the first of the four shards has its share of p_budget, so
-- that it seldom holds more than that in all: on 2026-12-01 steps deleted 74% of a p_budget of 1,000 and 91% of one of 10,000
-- on average. Where it does hold more, the step stops at p_budget and doesn't move on. beyond is how many rows beyond the
-- window were seen, one or more. before is NULL when there is nothing to be guessed: few shards, a small budget, a small backlog, or so
-- many rows in one microsecond that the window would be empty.
create or replace function queen.kv_expire_guess_v1(
  p_shards smallint[], p_from timestamptz, p_now timestamptz, p_budget bigint, out before timestamptz, out beyond bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_share constant bigint := p_budget / cardinality(p_shards);
begin
  if cardinality(p_shards) < 32 or v_share < 8 then
    return;
  end if;
  with shard as materialized (
    select array(
      select kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit v_share) as times
    from unnest(p_shards[1:4]) as s (shard)
  ), edge as materialized (
    select case when count(shard.times[v_share]) = 4 then min(shard.times[v_share]) end as expires_at,
      min(shard.times[1]) as first
    from shard
  )
  select edge.expires_at, (select count(*) from shard, unnest(shard.times) as t (expires_at) where t.expires_at >= edge.expires_at)
  into before, beyond
  from edge
  where edge.first < edge.expires_at;
end;
$$;
comment on function queen.kv_expire_guess_v1(smallint[], timestamptz, timestamptz, bigint) is
  'Chooses the next window of time to sweep from a few shards; NULL where that says nothing.';
