-- dedupe.sql: which keys of a list are new, remembered for a time.
--
--   select queen.kv_dedupe_v1('seen', '{evt_1,evt_2,evt_1}', 86400000);     -- {t,t,f}
--
-- A key that is seen is a live row, whatever its value; a new one gets the value true. It is putIfAbsent for thousands of keys in a
-- few statements, and holds no result: use Once where the effect must happen once, and Dedupe in the effect's own transaction
-- where skipping a repeat is enough.

-- kv_dedupe_insert_v1: makes rows for keys that had none, in one statement; answers those it made. A key that somebody else made first
-- is left, without a lock on it.
create or replace function queen.kv_dedupe_insert_v1(
  p_ns text, p_keys text[], p_expires_at timestamptz, p_tenant uuid, p_now timestamptz) returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_made text[];
begin
  with made as (
    insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
    select p_tenant, p_ns, k.key, 'true', nextval('queen.kv_version_seq'), p_expires_at, p_now, p_now
    from unnest(p_keys) as k (key)
    order by k.key collate "C" -- the order of the locks
    on conflict do nothing
    returning kv.key
  )
  select coalesce(array_agg(made.key), '{}') into v_made from made;
  return v_made;
end;
$$;
comment on function queen.kv_dedupe_insert_v1(text, text[], timestamptz, uuid, timestamptz) is
  'Makes rows for keys of kv_dedupe_v1 that had none; answers those it made.';

-- kv_dedupe_each_v1: putIfAbsent of each key, in the order they are given; answers those that applied. For lists with expired rows in
-- them: no one statement could both insert and take over in one order of locks.
create or replace function queen.kv_dedupe_each_v1(
  p_ns text, p_keys text[], p_ttl_ms bigint, p_tenant uuid, p_now timestamptz) returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text;
  v_made text[] := array[]::text[];
begin
  foreach v_key in array coalesce(p_keys, '{}') loop
    if queen.kv_op_put_v1(
      jsonb_build_object('op', 'putIfAbsent', 'ns', p_ns, 'key', v_key, 'value', true, 'ttlMs', p_ttl_ms),
      null, p_tenant, p_now, false) @> '{"applied": true}'
    then
      v_made := v_made || v_key;
    end if;
  end loop;
  return v_made;
end;
$$;
comment on function queen.kv_dedupe_each_v1(text, text[], bigint, uuid, timestamptz) is
  'putIfAbsent of each key, for kv_dedupe_v1; answers those that applied.';

-- kv_dedupe_take_v1: makes the keys that are not there, checked by the caller (kv_dedupe_v1), and answers those it made, each once. It
-- looks at all of them first, in a statement of its own. What was lost to somebody else meanwhile is looked at again.
create or replace function queen.kv_dedupe_take_v1(
  p_ns text, p_keys text[], p_ttl_ms bigint, p_tenant uuid, p_now timestamptz) returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_free text[];
  v_expired boolean;
  v_made text[];
  v_new text[] := array[]::text[];
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    with found as materialized (
      select kv.key, queen.kv_live_v1(kv.expires_at, p_now) as live
      from queen.kv
      where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = any (p_keys collate "C")
    )
    select coalesce(array_agg(k.key order by k.key), '{}'), coalesce(bool_or(found.key is not null), false)
    into v_free, v_expired
    from (select distinct u.key collate "C" as key from unnest(p_keys) as u (key)) as k
    left join found on found.key = k.key
    where found.live is not true;
    if v_free = '{}' then
      return v_new;
    elsif v_expired then
      return v_new || queen.kv_dedupe_each_v1(p_ns, v_free, p_ttl_ms, p_tenant, p_now);
    end if;
    v_made := queen.kv_dedupe_insert_v1(p_ns, v_free, queen.kv_expiry_v1(p_now, p_ttl_ms), p_tenant, p_now);
    v_new := v_new || v_made;
    if cardinality(v_made) = cardinality(v_free) then
      return v_new;
    end if;
  end loop;
  perform queen.kv_contended_v1(null);
end;
$$;
comment on function queen.kv_dedupe_take_v1(text, text[], bigint, uuid, timestamptz) is
  'Makes the keys of kv_dedupe_v1 that are not there, and answers them.';

-- kv_dedupe_v1: says which keys were not there, and remembers them for p_ttl_ms.
--
-- Result: a boolean for each input position, in input order: true for a key that is new. Of a key that is named twice the first is
-- new. A key that is seen keeps its expiry.
-- Race: a key is new to exactly one of any number of callers, who has it when its transaction commits. The others wait for that
-- where nothing is committed yet; a key with a committed live row makes nobody wait, and costs no lock and no WAL.
-- Cost and order: one look at all keys and one INSERT of those without a row, or, when an expired row is among them, a write for each
-- key; in ascending byte order either way. A key that was lost to somebody meanwhile and is gone again is tried once more, after
-- keys above it: that alone can be in a deadlock with another call.
-- Above READ COMMITTED: 40001 for a key that the snapshot can't see or write.
-- Errors: kv_apply_v1's for names, ttl, tenant and p_now; kv_bad_request for NULL keys; kv_too_many_keys above 4096; 40001
-- kv_contended.
create or replace function queen.kv_dedupe_v1(
  p_ns text, p_keys text[], p_ttl_ms bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null) returns boolean[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault constant text := queen.kv_pattern_fault_v1(p_ns, p_keys, p_ttl_ms, p_tenant, p_now);
  v_new text[];
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  v_new := queen.kv_dedupe_take_v1(p_ns, p_keys, p_ttl_ms, p_tenant, v_now);
  if p_now is null and queen.kv_expiry_v1(v_now, p_ttl_ms) <= clock_timestamp() then
    -- It waited so long that what it wrote is over: stamp it again. The rows are locked by the writes above.
    update queen.kv set expires_at = queen.kv_expiry_v1(clock_timestamp(), p_ttl_ms)
    where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = any (v_new collate "C");
  end if;
  return coalesce((
    select array_agg(n.key is not null and p.nth = 1 order by p.ordinality)
    from (
      select k.key, k.ordinality, row_number() over (partition by k.key collate "C" order by k.ordinality) as nth
      from unnest(p_keys) with ordinality as k (key)
    ) as p
    left join unnest(v_new) as n (key) on n.key = p.key collate "C"
  ), '{}');
end;
$$;
comment on function queen.kv_dedupe_v1(text, text[], bigint, uuid, timestamptz) is
  'Says for each key of a list whether it is new, and remembers it for a time.';
