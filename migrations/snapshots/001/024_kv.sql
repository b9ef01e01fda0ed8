-- 024_kv.sql: the table, its sequence, its index and settings, the two side tables, the typed reads and kv_apply_v1.
--
-- One row is one key of one tenant in one namespace. Who calls what: applications call kv_apply_v1 (any op, verdicts as
-- JSON) and the typed reads; the functions of ops/ are kv_apply_v1's own. Invariants:
--   existence   kv_live_v1 alone says whether a row exists; an expired row is as good as none until the sweeper takes it.
--   time        one call has one instant (p_now, or the clock read once at the start); nothing reads now().
--   locks       within a call writes run in ascending (namespace, key, index), byte order; reads lock nothing; an op that
--               loses on a committed live row locks nothing, draws no version and writes no WAL.
--   version     an opaque token from one sequence: never issued twice for a key, compared for equality only.
--   budgets     every limit is kv_limit_v1's; reads stop at 4 MiB of value text a call.
-- Everything here can be run again: what exists is left alone, and no lock is taken where nothing is to be made.

-- CACHE 1000: a version is an opaque token, so the gaps and the order between sessions mean nothing, and a session visits
-- the sequence (and its WAL) once in a thousand writes. 2026-12-01, make soak: 1 and 32 differ from it by no more than the noise.
create sequence if not exists queen.kv_version_seq as bigint cache 1000;

create table if not exists queen.kv (
  tenant_id  uuid        not null default queen.kv_default_tenant_v1(),
  namespace  text        not null collate "C",
  key        text        not null collate "C",
  value      jsonb       not null,
  version    bigint      not null default nextval('queen.kv_version_seq'),
  expires_at timestamptz,
  shard      smallint    not null generated always as ((hashtextextended(key, 0) & 63)::smallint) stored,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint kv_pkey primary key (tenant_id, namespace, key),
  constraint kv_namespace_form check (octet_length(namespace) <= 64 and namespace ~ '^[a-z0-9][a-z0-9._-]*$'),
  constraint kv_key_length check (octet_length(key) between 1 and 2048),
  constraint kv_expires_at_finite check (expires_at >= '0001-01-01 00:00:00+00' and expires_at < '10001-01-01 00:00:00+00'),
  constraint kv_version_positive check (version > 0)
) with (
  -- Decided by make soak (docs/soak.md): 24,000 live rows that turn over 20 times, 4,980 ops/s, PostgreSQL 15.18, 2 cores, 2026-12-01.
  --
  -- 2026-12-01. Symptom: with room left on each page the table is larger, and nothing else is better. 90, 80 and 70 took 1.72, 1.87 and
  -- 2.06 times the live set, 100 takes 1.50. The share of HOT updates of counters is 99% with each: what dies on a page makes the room.
  fillfactor = 100,
  -- 2026-12-01. Symptom: markers and counters turn over all day. 3,843 dead rows at PostgreSQL's own 20%, 2,617 at 5%, 2,268 at 2%; size,
  -- WAL and times are the same but for the noise, and so they are with a faster vacuum (vacuum_cost_delay, vacuum_cost_limit).
  autovacuum_vacuum_scale_factor = 0.05,
  -- 2026-12-01. Symptom: giving empty pages at the end back to the disk takes ACCESS EXCLUSIVE, and the table refills. With true vacuum
  -- held it for 30 ms while 5,320 pages went, and the longest read took 14 ms instead of 7; with false none are given back.
  vacuum_truncate = false
);
comment on table queen.kv is 'One row a key; a row whose expires_at has passed does not exist (kv_live_v1).';

-- The one reader of this index is the sweeper; forever rows are not in it. Looked for first: CREATE INDEX IF NOT EXISTS locks
-- the table even where the index exists.
do $$
begin
  if to_regclass('queen.idx_kv_shard_expires') is null then
    create index idx_kv_shard_expires on queen.kv (shard, expires_at) where expires_at is not null;
  end if;
end;
$$;

create table if not exists queen.kv_quota (
  tenant_id  uuid        primary key,
  max_rows   bigint,
  max_bytes  bigint,
  updated_at timestamptz not null default clock_timestamp()
);
comment on table queen.kv_quota is 'What an operator allows a tenant; NULL is no bound. No write path reads it.';

create table if not exists queen.kv_usage (
  tenant_id   uuid        primary key,
  rows        bigint      not null,
  bytes       bigint      not null,
  sampled     boolean     not null,
  computed_at timestamptz not null
);
comment on table queen.kv_usage is 'What the sweeper measured of a tenant; sampled marks an estimate. No write path touches it.';

-- kv_get_v1: the live row of a key, or no row. kv_get_many_v1: the live rows of keys, each once, in no order.
--
-- The planner inlines both where they are called in FROM with constants, parameters or columns (not with a volatile argument or
-- a sub-query, nor in the select list), and then they cost what a hand-written SELECT costs. p_now NULL is
-- statement_timestamp(). They check nothing and have no budget: a bad name finds nothing, a NULL tenant too.
create or replace function queen.kv_get_v1(
  p_ns text, p_key text, p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null)
returns table (key text, value jsonb, version bigint, expires_at timestamptz, updated_at timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select kv.key, kv.value, kv.version, kv.expires_at, kv.updated_at
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C"
    and queen.kv_live_v1(kv.expires_at, coalesce(p_now, statement_timestamp()));
end;
comment on function queen.kv_get_v1(text, text, uuid, timestamptz) is 'The live row of a key, or no row.';

create or replace function queen.kv_get_many_v1(
  p_ns text, p_keys text[], p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null)
returns table (key text, value jsonb, version bigint, expires_at timestamptz, updated_at timestamptz)
language sql stable parallel safe rows 100
begin atomic
  select kv.key, kv.value, kv.version, kv.expires_at, kv.updated_at
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = any (p_keys collate "C")
    and queen.kv_live_v1(kv.expires_at, coalesce(p_now, statement_timestamp()));
end;
comment on function queen.kv_get_many_v1(text, text[], uuid, timestamptz) is 'The live rows of keys, each once, in no order.';

-- kv_apply_v1: runs the ops of a call, in the caller's transaction.
--
-- Result: an array with one object per op, in input order. A lost precondition is a verdict in it (applied: false), not an
-- error, unless the op says required. Every op is checked before the first write. Writes and gets run in ascending
-- (namespace, key, index); getMany and getPrefix after them, in input order, seeing what the call wrote.
-- Race: see ops/. p_now NULL reads the clock once, at the start.
-- Errors: the codes of docs/sql.md, none of which leaves a write behind.
create or replace function queen.kv_apply_v1(
  p_ops jsonb, p_tenant uuid default queen.kv_default_tenant_v1(),
  p_now timestamptz default null, p_in_wire boolean default false) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_op jsonb;
  v_fault text;
  v_result jsonb;
  v_expires_at timestamptz;
  v_seen record;
  v_version bigint;
  v_round integer := 1;
  v_text text;
begin
  -- One op at the clock's own time is what most calls are: the rules of a call as a whole can't refuse it.
  if p_now is null and p_tenant is not null and jsonb_typeof(p_ops) = 'array' and jsonb_array_length(p_ops) = 1 then
    v_op := p_ops -> 0;
  else
    v_fault := queen.kv_call_fault_v1(p_ops, p_tenant, p_now, p_in_wire);
    if v_fault is not null then
      perform queen.kv_refuse_v1(v_fault);
    elsif jsonb_array_length(p_ops) <> 1 then
      return queen.kv_apply_batch_v1(p_ops, p_tenant, v_now, p_now is null, p_in_wire);
    end if;
    v_op := p_ops -> 0;
  end if;

  -- The most usual ops are checked, and where they can be also run, right here, since every function called is made ready
  -- once a transaction; the others by kv_check_op_v1 and the functions of ops/.
  case v_op -> 'op'
    when '"get"' then
      if queen.kv_plain_get_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      end if;
      select jsonb_build_array(g.result) into v_result from queen.kv_op_get_v1(v_op, 0, p_tenant, v_now) as g;
      return case when found then v_result else jsonb_build_array(queen.kv_op_not_found_v1(v_op, 0)) end;
    when '"put"' then
      if queen.kv_plain_put_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      elsif current_setting('transaction_isolation') = 'read committed' then
        -- Nothing to decide, so nothing to read first: as kv_put_batch_v1, and only below REPEATABLE READ for the same reason.
        insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
        values (p_tenant, v_op ->> 'ns', v_op ->> 'key', v_op -> 'value', nextval('queen.kv_version_seq'),
          queen.kv_expiry_v1(v_now, queen.kv_ttl_ms_v1(v_op)), v_now, v_now)
        on conflict (tenant_id, namespace, key) do update set
          value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
          created_at = case when queen.kv_live_v1(kv.expires_at, excluded.updated_at) then kv.created_at else excluded.created_at end
        returning jsonb_build_array(queen.kv_verdict_v1(v_op, 0, null, v_op -> 'value', kv.version, kv.expires_at)), kv.expires_at
        into v_result, v_expires_at;
        if found then
          if p_now is null and v_expires_at <= clock_timestamp() then
            v_expires_at := queen.kv_restamp_v1(p_tenant, v_op ->> 'ns', v_op ->> 'key', queen.kv_ttl_ms_v1(v_op));
            v_result := jsonb_set(v_result, '{0,expiresAt}', to_jsonb(queen.kv_time_v1(v_expires_at)));
          end if;
          return v_result;
        end if;
      end if;
      return jsonb_build_array(queen.kv_op_put_v1(v_op, 0, p_tenant, v_now, p_now is null));
    when '"putIfAbsent"' then
      if queen.kv_plain_put_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      end if;
      return jsonb_build_array(queen.kv_op_put_v1(v_op, 0, p_tenant, v_now, p_now is null));
    when '"incr"' then
      if queen.kv_plain_incr_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      else
        -- A live number that stays in range is counted up here; kv_op_incr_v1 has everything else, a lost race too.
        select kv.version, kv.expires_at, to_jsonb(trim_scale(kv.value::numeric + (v_op -> 'delta')::numeric)) as value into v_seen
        from queen.kv
        where kv.tenant_id = p_tenant and kv.namespace = (v_op ->> 'ns') collate "C" and kv.key = (v_op ->> 'key') collate "C"
          and queen.kv_live_v1(kv.expires_at, v_now)
          and case when jsonb_typeof(kv.value) = 'number' then queen.kv_number_ok_v1(kv.value::numeric + (v_op -> 'delta')::numeric) end;
        if found then
          v_version := nextval('queen.kv_version_seq');
          update queen.kv set value = v_seen.value, version = v_version, updated_at = v_now
          where kv.tenant_id = p_tenant and kv.namespace = (v_op ->> 'ns') collate "C" and kv.key = (v_op ->> 'key') collate "C"
            and kv.version = v_seen.version and kv.expires_at is not distinct from v_seen.expires_at
          returning jsonb_build_array(queen.kv_verdict_v1(v_op, 0, null, kv.value, kv.version, kv.expires_at)) into v_result;
          if found then
            return v_result;
          end if;
          v_round := 2;
        end if;
      end if;
      return jsonb_build_array(queen.kv_op_incr_v1(v_op, 0, p_tenant, v_now, p_now is null, v_round));
    when '"touch"' then
      perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      return jsonb_build_array(queen.kv_op_touch_v1(v_op, 0, p_tenant, v_now, p_now is null));
    when '"delete"' then
      perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      return jsonb_build_array(queen.kv_op_delete_v1(v_op, 0, p_tenant, v_now));
    when '"getMany"' then
      perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      if queen.kv_op_keys_v1(v_op) <= queen.kv_limit_v1('keys_in_wire') then
        v_result := queen.kv_op_get_few_v1(v_op, p_tenant, v_now);
        if v_result is not null then
          return v_result;
        end if;
        select r.result into v_text from queen.kv_op_get_many_v1(v_op, 0, p_tenant, v_now, queen.kv_limit_v1('read_bytes')) as r;
        return ('[' || v_text || ']')::jsonb;
      end if;
      return queen.kv_apply_batch_v1(p_ops, p_tenant, v_now, p_now is null, p_in_wire); -- which refuses too many keys
    else
      -- getPrefix, and what is no op at all, which is refused there.
      return queen.kv_apply_batch_v1(p_ops, p_tenant, v_now, p_now is null, p_in_wire);
  end case;
end;
$$;
comment on function queen.kv_apply_v1(jsonb, uuid, timestamptz, boolean) is
  'Runs an array of ops in the caller''s transaction; answers an array with one verdict or result per op, in input order.';
