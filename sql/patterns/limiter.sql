-- limiter.sql: so many a window, for each key: a fixed window that opens with the first hit and closes p_window_ms later.
--
--   select * from queen.kv_limiter_v1('rate', '{user/7}', null, 100, 60000);
--
-- The state is a counter, the very row that incr makes: {"op": "incr", "delta": cost, "max": limit, "ttlMs": window} is the rule.
-- So incr, get and delete (which opens a new window) work on it, and two callers may have different limits on one key.

-- kv_limiter_fault_v1: NULL for good arguments of kv_limiter_v1, else the first fault: as kv_pattern_fault_v1, then costs and limit,
-- and the number of keys after all.
create or replace function queen.kv_limiter_fault_v1(
  p_ns text, p_keys text[], p_costs bigint[], p_limit bigint, p_window_ms bigint, p_tenant uuid, p_now timestamptz) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_pattern_fault_v1(p_ns, p_keys, p_window_ms, p_tenant, p_now);
begin
  return case
    when v_fault is not null and v_fault not like 'kv_too_many_keys%' collate "C" then v_fault
    when cardinality(p_costs) <> cardinality(p_keys) then 'kv_bad_request costs must be as many as keys, or NULL for 1 each'
    when exists (select from unnest(p_costs) as c (cost) where c.cost is null) then 'kv_bad_request costs must not hold a NULL'
    when 0 > any (p_costs) then 'kv_bad_number a cost must not be below 0'
    when p_limit is null then 'kv_bad_request limit must not be NULL'
    when p_limit < 0 then 'kv_bad_number limit must not be below 0'
    else v_fault
  end;
end;
$$;
comment on function queen.kv_limiter_fault_v1(text, text[], bigint[], bigint, bigint, uuid, timestamptz) is
  'NULL for good arguments of kv_limiter_v1, else the fault.';

-- kv_limiter_left_v1: what a limit leaves above a counter: whole, from 0, and no more than a bigint holds (a counter can be below 0,
-- and have decimals, when incr was used on it).
create or replace function queen.kv_limiter_left_v1(p_limit bigint, p_used numeric) returns bigint
language sql immutable parallel safe
begin atomic
  select least(greatest(floor(p_limit - p_used), 0), 9223372036854775807)::bigint;
end;
comment on function queen.kv_limiter_left_v1(bigint, numeric) is 'What a limit leaves above a counter, from 0.';

-- kv_limiter_hit_v1: one cost of one key, checked by the caller (kv_limiter_v1). A verdict of incr. A cost of 0 only looks, and
-- applies when the counter is not above the limit.
create or replace function queen.kv_limiter_hit_v1(
  p_ns text, p_key text, p_cost bigint, p_limit bigint, p_window_ms bigint, p_index integer, p_tenant uuid, p_now timestamptz,
  p_restamp boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op constant jsonb := jsonb_build_object(
    'op', 'incr', 'ns', p_ns, 'key', p_key, 'delta', p_cost, 'max', p_limit, 'ttlMs', p_window_ms);
  v_seen record;
begin
  if p_cost > 0 then
    return queen.kv_op_incr_v1(v_op, p_index, p_tenant, p_now, p_restamp, 1);
  end if;
  select g.value, g.version, g.expires_at into v_seen from queen.kv_get_v1(p_ns, p_key, p_tenant, p_now) as g;
  return queen.kv_verdict_v1(v_op, p_index,
    case
      when jsonb_typeof(v_seen.value) <> 'number' then 'type'
      when queen.kv_num_v1(v_seen.value, v_seen.expires_at, p_now) > p_limit then 'limit'
    end,
    v_seen.value, coalesce(v_seen.version, 0), v_seen.expires_at);
end;
$$;
comment on function queen.kv_limiter_hit_v1(text, text, bigint, bigint, bigint, integer, uuid, timestamptz, boolean) is
  'One cost of one key for kv_limiter_v1, already checked: a verdict of incr.';

-- kv_limiter_v1: takes each key's cost out of its window, if the limit leaves so much.
--
-- Result: a row for each input position, in input order. ordinality counts from 1. allowed: the cost fitted, and was taken; else reason
-- says why not: limit, or type when the key holds something alive that is no number. remaining: what the window has left
-- after this position. reset_at: when the window closes; NULL when none is open (a first cost above the limit opens none), or when
-- the key lives for ever. A refused cost consumes nothing and moves nothing. A cost of 0 asks and never writes. p_costs NULL means 1
-- each. A key that is named twice is judged in input order, each time after the one before it.
-- Race: of any number of callers exactly as many are allowed as fit. One who is refused on a committed window waits for nobody. Keys
-- are locked in ascending byte order: of calls with many keys none deadlocks another. A key's lock is held until the
-- transaction ends, so use a transaction of its own for a limiter, or let it come last.
-- Errors: kv_apply_v1's for names, tenant, p_now and (kv_bad_ttl) the window; kv_bad_number for a cost or limit below 0;
-- kv_bad_request for a NULL among costs, a NULL limit and another number of costs than of keys; kv_too_many_keys above
-- 4096; 40001 kv_contended.
create or replace function queen.kv_limiter_v1(
  p_ns text, p_keys text[], p_costs bigint[], p_limit bigint, p_window_ms bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null)
returns table (ordinality bigint, key text, allowed boolean, reason text, remaining bigint, reset_at timestamptz)
language plpgsql volatile rows 10
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault constant text := queen.kv_limiter_fault_v1(p_ns, p_keys, p_costs, p_limit, p_window_ms, p_tenant, p_now);
  v_verdicts jsonb[];
  v_hit record;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  v_verdicts := array_fill(null::jsonb, array[cardinality(p_keys)]);
  for v_hit in
    select h.key, coalesce(h.cost, 1) as cost, h.ordinality::integer as place
    from unnest(p_keys, p_costs) with ordinality as h (key, cost)
    order by h.key collate "C", h.ordinality
  loop
    v_verdicts[v_hit.place] := queen.kv_limiter_hit_v1(
      p_ns, v_hit.key, v_hit.cost, p_limit, p_window_ms, v_hit.place - 1, p_tenant, v_now, p_now is null);
  end loop;
  return query
    select v.ordinality, v.verdict ->> 'key', (v.verdict -> 'applied')::boolean, v.verdict ->> 'reason',
      case when v.verdict ->> 'reason' = 'type' then 0
           else queen.kv_limiter_left_v1(p_limit, coalesce(nullif(v.verdict -> 'value', 'null'), '0')::numeric) end,
      (v.verdict ->> 'expiresAt')::timestamptz
    from unnest(v_verdicts) with ordinality as v (verdict, ordinality)
    order by v.ordinality;
end;
$$;
comment on function queen.kv_limiter_v1(text, text[], bigint[], bigint, bigint, uuid, timestamptz) is
  'Takes each key''s cost out of its fixed window, if the limit leaves so much; a row for each input position.';
