-- 026_kv_sweeper.sql: what frees the disk. No answer depends on it: an expired row does not exist for any reader or writer.
--
-- A sweeper is a loop around kv_expire_step_v1, each step in a transaction of its own, in READ COMMITTED. Any number may run at
-- once: each takes what the others do not hold. kv_usage_step_v1 measures tenants on a slower clock, for quotas. kv_sweep_v1 is
-- the loop for pg_cron. Invariants:
--   locks    a step alone in its transaction waits for no row lock, so it is in no deadlock; it never waits for an application,
--            and an application waits for it no longer than a step takes.
--   order    the oldest rows of all shards first, whatever shard they are in: no shard is left behind.
--   cost     what a step reads grows with the rows it deletes, not with the table nor with the backlog: it walks the index
--            range of each shard from the step's beginning, and counts no more than it walked.
--   time     p_now NULL reads the server's clock, which is the clock that expiries were made with. Leave it NULL: a p_now in
--            the future deletes what is alive.

-- kv_expire_step_v1: deletes at most p_max_rows rows that are not live, of the shards named (a shard named twice counts once).
--
-- Result:
--   deleted         how many.
--   nextFrom        pass it as p_from of the next call: there is nothing to be done before it. null at the end of a pass. A step that
--                   deleted much answers where it began to, not where it ended: the next one so walks over what this one has
--                   deleted, and marks it in the index as dead while those pages are at hand. The step that ends the drain, from
--                   NULL, then skips it: it would take a second for each million rows.
--   done            no expired row is left but those that others hold. Only a call with p_from NULL that came to the end says so;
--                   after a pass that began further on, begin again with NULL.
--   unpruned        expired rows left from p_from on, as far as the step has looked.
--   unprunedCapped  there may be more than that.
--   lagMs           how long ago the oldest of them expired; 0: none.
--   now             the instant.
-- nextFrom matters while an old snapshot is open somewhere: rows that were deleted since then stay in the index, at the head of
-- each shard, and a step from NULL walks over all of them. Rows that expire in one and the same microsecond are the exception:
-- inside it there is no place to go on from.
-- A step may delete fewer than p_max_rows while there are more; done and nextFrom tell, not the number.
-- Race: see kv_expire_hold_v1. Errors: kv_bad_request; 42501 kv_rows_hidden where row-level security hides rows from the caller,
-- who would be told that all is done; above READ COMMITTED 40001.
create or replace function queen.kv_expire_step_v1(
  p_shards smallint[], p_now timestamptz, p_max_rows integer, p_from timestamptz default null) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault constant text := queen.kv_expire_fault_v1(p_shards, p_now, p_max_rows, p_from);
  v_from timestamptz := coalesce(p_from, '0001-01-01 00:00:00+00');
  v_all smallint[];
  v_shards smallint[];
  v_guess record;
  v_look record;
  v_hold record;
  v_taken bigint;
  v_first timestamptz;         -- when the first row expired that was deleted
  v_deleted bigint := 0;
  v_left bigint := 0;          -- expired rows that were reached and not deleted
  v_left_from timestamptz;     -- where the window of the first of them began; NULL: there are none
  v_unpruned bigint;
  v_capped boolean := false;
  v_beyond timestamptz;        -- the oldest expired row that was not reached; NULL: all were
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  elsif queen.kv_rows_hidden_v1() then
    perform queen.kv_refuse_v1('kv_rows_hidden row-level security hides rows of queen.kv from ' || current_user
      || ': a sweeper needs the policy of sql/optional/rls.sql, or BYPASSRLS');
  end if;
  -- In no order: a few are asked for all, and none is the first to be served when many rows expire in one microsecond.
  v_all := array(select s.shard from (select distinct u.shard from unnest(p_shards) as u (shard)) as s order by random());
  v_shards := v_all;

  v_guess := queen.kv_expire_guess_v1(v_shards, v_from, v_now, p_max_rows);
  if v_guess.before is not null then
    v_hold := queen.kv_expire_hold_v1(v_shards, v_from, v_guess.before, v_now, p_max_rows, p_max_rows);
    v_deleted := queen.kv_expire_delete_v1(v_hold.lie, v_now);
    v_first := v_hold.first;
    v_unpruned := v_guess.beyond;
    v_capped := true;
    v_beyond := v_guess.before;
    if v_deleted < p_max_rows then
      v_from := v_guess.before;
    else
      v_left_from := v_from; -- the window may hold more
    end if;
  end if;

  -- One window is a whole step, unless most of its rows are held by others or sit in few shards.
  for v_window in 1 .. queen.kv_limit_v1('sweep_windows') loop
    exit when v_deleted * 2 >= p_max_rows;
    v_look := queen.kv_expire_look_v1(v_shards, v_from, v_now, p_max_rows - v_deleted);
    v_taken := 0;
    if v_look.first is not null then
      -- From the first row that was seen, not from v_from: what was deleted in between is not walked over twice.
      v_hold := queen.kv_expire_hold_v1(v_shards, v_look.first, v_look.before, v_now, v_look.share, p_max_rows - v_deleted);
      v_taken := queen.kv_expire_delete_v1(v_hold.lie, v_now);
      v_first := least(v_first, v_hold.first);
    end if;
    v_deleted := v_deleted + v_taken;
    v_unpruned := v_left + greatest(v_look.seen - v_taken, 0);
    v_capped := v_capped or v_look.capped;
    v_beyond := v_look.beyond;
    if v_look.tied and v_taken > 0 then
      v_from := v_look.beyond; -- the same microsecond again, for those that are left
    else
      if v_taken < v_look.reached then
        v_left := v_left + v_look.reached - v_taken;
        v_left_from := coalesce(v_left_from, v_from);
      end if;
      v_from := v_look.before;
    end if;
    exit when v_beyond is null;
    v_shards := v_look.rest;
  end loop;

  return jsonb_build_object(
    'deleted', v_deleted,
    'done', p_from is null and v_beyond is null,
    'unpruned', v_unpruned,
    'unprunedCapped', v_capped,
    'lagMs', coalesce(floor(extract(epoch from v_now
      - case when v_left_from is not null then queen.kv_expire_oldest_v1(v_all, v_left_from, v_now) else v_beyond end) * 1000)::bigint, 0),
    'now', queen.kv_time_v1(v_now),
    'nextFrom', case when v_beyond is not null then
      queen.kv_time_v1(case when v_deleted * 2 >= p_max_rows then least(v_first, v_from) else v_from end) end);
end;
$$;
comment on function queen.kv_expire_step_v1(smallint[], timestamptz, integer, timestamptz) is
  'Deletes at most p_max_rows expired rows of the shards named; answers deleted, done, unpruned, lagMs and nextFrom.';

-- kv_usage_step_v1: measures whole tenants, in their order, the first p_max_tenants after p_after, into queen.kv_usage.
--
-- Result: tenants (how many were measured), sampled (how many of them are estimates), busy (how many another sweeper is at, and
-- were left to it), nextAfter (pass it as p_after of the next call), done (the last tenant was reached; nextAfter is null then)
-- and now. A step ends early when it has read some hundred thousand rows. How a tenant is measured is said at
-- kv_usage_measure_v1; computed_at is p_now, or the clock, at the beginning of the step, whatever was there before.
-- Race: a tenant whose measurement somebody else is writing is left to him. Only the first measurement ever of a tenant can wait
-- for somebody else's.
-- Errors: kv_bad_request.
--
-- SECURITY DEFINER, the one such function, because a sweeper may not read values, and their sizes can't be had otherwise: it
-- answers numbers alone.
create or replace function queen.kv_usage_step_v1(
  p_now timestamptz, p_max_tenants integer, p_after uuid default null) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set row_security = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_tenant uuid := queen.kv_usage_next_v1(p_after);
  v_after uuid := p_after;
  v_known boolean;
  v_usage record;
  v_tenants integer := 0;
  v_sampled integer := 0;
  v_busy integer := 0;
  v_visited bigint := 0;
begin
  if p_now is not null and not queen.kv_now_ok_v1(p_now) then
    perform queen.kv_refuse_v1('kv_bad_request p_now must be finite and within the years 1 to 9899');
  elsif coalesce(p_max_tenants, 0) < 1 then
    perform queen.kv_refuse_v1('kv_bad_request p_max_tenants must be at least 1');
  end if;

  while v_tenant is not null and v_tenants + v_busy < p_max_tenants and v_visited < queen.kv_limit_v1('usage_step_rows') loop
    v_known := exists (select from queen.kv_usage as u where u.tenant_id = v_tenant);
    perform from queen.kv_usage as u where u.tenant_id = v_tenant for update skip locked;
    if v_known and not found then
      v_busy := v_busy + 1;
    else
      v_usage := queen.kv_usage_measure_v1(v_tenant);
      insert into queen.kv_usage (tenant_id, rows, bytes, sampled, computed_at)
      values (v_tenant, v_usage.rows, v_usage.bytes, v_usage.sampled, v_now)
      on conflict (tenant_id) do update set
        rows = excluded.rows, bytes = excluded.bytes, sampled = excluded.sampled, computed_at = excluded.computed_at;
      v_tenants := v_tenants + 1;
      v_sampled := v_sampled + v_usage.sampled::integer;
      v_visited := v_visited + v_usage.visited;
    end if;
    v_after := v_tenant;
    v_tenant := queen.kv_usage_next_v1(v_after);
  end loop;
  return jsonb_build_object('tenants', v_tenants, 'sampled', v_sampled, 'busy', v_busy, 'done', v_tenant is null,
    'nextAfter', case when v_tenant is not null then v_after end, 'now', queen.kv_time_v1(v_now));
end;
$$;
comment on function queen.kv_usage_step_v1(timestamptz, integer, uuid) is
  'Measures the next tenants after p_after into queen.kv_usage; answers tenants, sampled, busy, done and nextAfter.';

-- kv_sweep_v1: sweeps and measures for p_seconds, for a scheduler in the database: select cron.schedule('* * * * *', 'call queen.kv_sweep_v1()').
--
-- Every step is a transaction of its own, committed before the next. Where p_stay is true the call stays until its time is up,
-- also when nothing is left to delete, since a scheduler's shortest interval is often a minute; false returns once all is
-- drained and measured. It looks at the clock between steps, so it ends within a step's time after p_seconds. p_max_tenants 0
-- measures nothing.
-- It must be the only statement of its string, outside a transaction block: 2D000 otherwise, with a CONTEXT that says so. A
-- statement_timeout counts for the whole call. Errors besides: those of the steps; what was committed stays.
--
-- A procedure that commits can have no SET clause, so it names nothing that is not qualified and uses no operator; what it decides
-- is decided in kv_sweep_turn_v1.
create or replace procedure queen.kv_sweep_v1(
  p_seconds integer default 50, p_max_rows integer default 5000, p_max_tenants integer default 100, p_stay boolean default true)
language plpgsql
as $$
declare
  v_state pg_catalog.jsonb := queen.kv_sweep_plan_v1(p_seconds, p_max_rows, p_max_tenants, p_stay);
begin
  call queen.kv_must_run_outside_a_transaction_v1();
  while v_state is not null loop
    commit;
    set transaction isolation level read committed;
    v_state := queen.kv_sweep_turn_v1(v_state);
  end loop;
end;
$$;
comment on procedure queen.kv_sweep_v1(integer, integer, integer, boolean) is
  'Sweeps and measures for p_seconds, each step in a transaction of its own; for pg_cron. Must be the only statement of its string.';
