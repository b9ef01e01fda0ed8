-- kv_expire_look_v1: chooses the next window of time to sweep: the oldest rows of all shards together, at most p_budget of them.
--
-- It walks each shard's range of the index from p_from, in index order, as far as the shard's share of the budget and a
-- little more (three standard deviations, since keys fall into shards at random), and locks nothing. Result:
--   before   the window is p_from <= expires_at < before: every expired row in it was seen. infinity: nothing lies beyond.
--   first    the oldest expired row. NULL: none was seen.
--   tied     more rows than the budget expire in the very microsecond where the window would begin: the window is that
--            microsecond, and each shard gives its share.
--   share    how many rows one shard may give.
--   seen     how many expired rows were seen, and reached, how many of them lie in the window.
--   beyond   the oldest expired row that is not in the window; NULL: none.
--   capped   whether there may be rows beyond those that were seen.
--   rest     the shards that have rows beyond the window.
-- All shards so go forward in time together. Were each given its share alone, some would run ahead of the others, and what
-- they have deleted beyond the slowest's place would be walked over in every step while an old snapshot keeps it.
--
-- The settings leave the planner one plan, the index range of each shard, however old its statistics are; jit would cost more
-- than the step.
create or replace function queen.kv_expire_look_v1(
  p_shards smallint[], p_from timestamptz, p_now timestamptz, p_budget bigint,
  out before timestamptz, out first timestamptz, out tied boolean, out share bigint, out seen bigint, out reached bigint, out beyond timestamptz,
  out capped boolean, out rest smallint[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_share constant bigint := (p_budget + cardinality(p_shards) - 1) / cardinality(p_shards);
  v_reach constant bigint := v_share + 1 + case when cardinality(p_shards) > 1 then 3 * ceil(sqrt(v_share))::bigint else 0 end;
begin
  with shard as materialized (
    select s.shard, array(
      select kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit v_reach) as times
    from unnest(p_shards) as s (shard)
  ), expired as materialized (
    select t.expires_at from shard, unnest(shard.times) as t (expires_at)
  ), stop as materialized (
    -- A row that the budget has no place for, and what a shard may hold beyond its last row that was seen, end the window.
    select least(
      (select e.expires_at from expired as e order by e.expires_at offset p_budget limit 1),
      (select min(shard.times[v_reach]) from shard)) as expires_at
  ), edge as materialized (
    select stop.expires_at as beyond, f.first, stop.expires_at is not null and stop.expires_at = f.first as tied
    from stop, (select min(shard.times[1]) as first from shard) as f
  )
  select edge.beyond, edge.first, edge.tied, count(e.expires_at),
    count(e.expires_at) filter (where edge.beyond is null or e.expires_at < edge.beyond or edge.tied and e.expires_at = edge.beyond),
    coalesce((select bool_or(shard.times[v_reach] is not null) from shard), false),
    array(select shard.shard from shard where shard.times[cardinality(shard.times)] >= edge.beyond)
  into beyond, first, tied, seen, reached, capped, rest
  from edge left join expired as e on true
  group by edge.beyond, edge.first, edge.tied;

  before := case when tied then beyond + interval '1 microsecond' else coalesce(beyond, 'infinity') end;
  share := case when tied then v_share else p_budget end;
end;
$$;
comment on function queen.kv_expire_look_v1(smallint[], timestamptz, timestamptz, bigint) is
  'Chooses the next window of time to sweep: the oldest expired rows of all shards together.';
