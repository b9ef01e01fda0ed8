-- 028_kv_access.sql: who may call what.
--
-- Nothing is granted to PUBLIC. An operator grants a level to a role with kv_grant_v1, which remembers it, so that a release that
-- adds a function grants it too (kv_regrant_v1, the last thing an installation does). A level is the least it needs:
--   reader    SELECT on queen.kv, quotas and usage; every function that reads. It may run kv_apply_v1; a write in it fails with 42501.
--   writer    reader, and INSERT, DELETE and UPDATE of everything but a row's identity; the version sequence; the patterns.
--   sweeper   DELETE, SELECT of the columns that a sweep needs, which are not the values, and the steps. A row lock takes the right
--             to UPDATE some column: it has that of shard, which is generated and can be set to nothing else.
--   admin     writer, the quota table, and the steps of a sweep.
--   none      takes everything away again.
-- A writer is trusted: it can lock the table and burn the server's time. A level separates rights, not availability.

-- kv_schema_version_v1: the version of this schema, for drivers that must not run on another.
create or replace function queen.kv_schema_version_v1() returns integer
language sql immutable parallel safe
begin atomic
  select 1;
end;
comment on function queen.kv_schema_version_v1() is 'The version of this schema; drivers compare it with the one they need.';

create table if not exists queen.kv_grant (
  role_name name primary key,
  level     text not null
);
comment on table queen.kv_grant is 'What kv_grant_v1 granted to whom. Names, so that a dump can be restored where a role is missing.';

-- kv_level_functions_v1: the functions that a level may execute. The one place that decides it: what is not named here is for
-- every level, because it only reads or only computes.
create or replace function queen.kv_level_functions_v1(p_level text) returns setof regprocedure
language sql stable
begin atomic
  select p.oid::regprocedure
  from pg_proc as p
  where p.pronamespace = 'queen'::regnamespace
    and p_level collate "C" in ('reader', 'writer', 'admin', 'sweeper')
    and case
      when p.proname in ('kv_grant_v1', 'kv_grant_level_v1', 'kv_regrant_v1', 'kv_level_functions_v1') then false
      when p.proname in ('kv_once_begin_v1', 'kv_once_end_v1') then p_level collate "C" in ('writer', 'admin')
      when p.proname in ('kv_limiter_v1', 'kv_dedupe_v1', 'kv_lease_acquire_v1', 'kv_lease_renew_v1', 'kv_lease_guard_v1',
                         'kv_lease_release_v1') then p_level collate "C" in ('writer', 'admin')
      when p.proname in ('kv_expire_step_v1', 'kv_expire_guess_v1', 'kv_expire_look_v1', 'kv_expire_hold_v1', 'kv_expire_delete_v1',
        'kv_expire_oldest_v1', 'kv_usage_step_v1', 'kv_sweep_plan_v1', 'kv_sweep_turn_v1', 'kv_must_run_outside_a_transaction_v1', 'kv_sweep_v1') then
        p_level collate "C" in ('sweeper', 'admin')
      when p.proname in ('kv_usage_next_v1', 'kv_usage_measure_v1') then false -- kv_usage_step_v1 runs them as the owner
      when p.proname = 'kv_quota_set_v1' then p_level = 'admin' collate "C"
      when p_level = 'sweeper' collate "C" then p.proname in ('kv_schema_version_v1', 'kv_limit_v1', 'kv_live_v1', 'kv_now_ok_v1',
        'kv_time_v1', 'kv_refuse_v1', 'kv_rows_hidden_v1', 'kv_expire_fault_v1', 'kv_quota_refresh_v1')
      else true
    end;
end;
comment on function queen.kv_level_functions_v1(text) is 'The functions that a level may execute.';

-- kv_grant_level_v1: grants what a level is, and takes nothing away. The part of kv_grant_v1 that an installation repeats for every
-- role that kv_grant_v1 remembers, so that what a release adds is granted too.
create or replace function queen.kv_grant_level_v1(p_role_name name, p_level text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function regprocedure;
begin
  if p_role_name is null then
    perform queen.kv_refuse_v1('kv_bad_request p_role_name must be the name of a role');
  end if;
  execute format('grant usage on schema queen to %I', p_role_name);
  for v_function in select f from queen.kv_level_functions_v1(p_level) as f loop
    execute format('grant execute on routine %s to %I', v_function, p_role_name);
  end loop;
  if p_level collate "C" in ('reader', 'writer', 'admin') then
    execute format('grant select on queen.kv to %I', p_role_name);
  end if;
  if p_level collate "C" in ('reader', 'writer', 'admin', 'sweeper') then
    execute format('grant select on queen.kv_quota, queen.kv_usage to %I', p_role_name);
    if to_regclass('queen.kv_role_tenant') is not null then -- optional/rls.sql was run: its policies ask this table for the role
      execute format('grant select on queen.kv_role_tenant to %I', p_role_name);
    end if;
  end if;
  if p_level collate "C" in ('writer', 'admin') then
    execute format('grant insert, delete, update (value, version, expires_at, created_at, updated_at) on queen.kv to %I', p_role_name);
    execute format('grant usage on sequence queen.kv_version_seq to %I', p_role_name);
  end if;
  if p_level = 'admin' collate "C" then
    execute format('grant insert, update, delete on queen.kv_quota to %I', p_role_name);
  end if;
  if p_level = 'sweeper' collate "C" then
    execute format('grant delete, select (tenant_id, namespace, key, expires_at, shard, ctid), update (shard) on queen.kv to %I', p_role_name);
  end if;
end;
$$;
comment on function queen.kv_grant_level_v1(name, text) is 'Grants what a level is, and takes nothing away.';

-- kv_grant_v1: gives a role a level, instead of the one it had, and remembers it.
--
-- Errors: kv_bad_request for a level that is none of reader, writer, sweeper, admin, none, for PUBLIC (regrole '-': a grant is to a
-- role that somebody answers for), and for the owner, whom a level would only take rights from. Only the owner can call it.
-- Rename a role, and it must be granted again.
create or replace function queen.kv_grant_v1(p_role regrole, p_level text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role constant name := (select r.rolname from pg_roles as r where r.oid = p_role);
begin
  if v_role is null then
    perform queen.kv_refuse_v1('kv_bad_request p_role must be a role; nothing is granted to PUBLIC');
  end if;
  if p_role = (select n.nspowner from pg_namespace as n where n.nspname = 'queen')
     or p_role = (select c.relowner from pg_class as c where c.oid = 'queen.kv'::regclass) then
    perform queen.kv_refuse_v1('kv_bad_request p_role owns the schema: it may do everything already, and a level would take that away');
  end if;
  if p_level is null or p_level collate "C" not in ('reader', 'writer', 'sweeper', 'admin', 'none') then
    perform queen.kv_refuse_v1('kv_bad_request p_level must be one of reader, writer, sweeper, admin, none');
  end if;

  lock table queen.kv_grant in share row exclusive mode; -- one at a time, or two revokes meet in the catalogs
  execute format('revoke all on all tables in schema queen from %I', v_role);
  execute format('revoke all on all sequences in schema queen from %I', v_role);
  execute format('revoke all on all routines in schema queen from %I', v_role);
  execute format('revoke all on schema queen from %I', v_role);
  delete from queen.kv_grant as g where g.role_name = v_role;
  if p_level = 'none' then
    return;
  end if;

  perform queen.kv_grant_level_v1(v_role, p_level);
  insert into queen.kv_grant (role_name, level) values (v_role, p_level);
end;
$$;
comment on function queen.kv_grant_v1(regrole, text) is
  'Gives a role the level reader, writer, sweeper, admin or none, instead of the one it had, and remembers it.';

-- kv_regrant_v1: grants what is remembered once more, so that what a release added is granted too. A role that is gone is
-- skipped; one that was made anew under the old name is taken for it, so give a role the level none before it is dropped.
create or replace function queen.kv_regrant_v1() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_grant record;
begin
  for v_grant in
    select g.role_name, g.level from queen.kv_grant as g join pg_roles as r on r.rolname = g.role_name
  loop
    perform queen.kv_grant_level_v1(v_grant.role_name, v_grant.level);
  end loop;
end;
$$;
comment on function queen.kv_regrant_v1() is 'Grants again what kv_grant_v1 remembers; the last thing an installation does.';

revoke all on schema queen from public;
revoke all on all tables in schema queen from public;
revoke all on all sequences in schema queen from public;
revoke all on all routines in schema queen from public;
do $$
begin
  perform queen.kv_regrant_v1();
end;
$$;
