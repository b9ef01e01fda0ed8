-- 028_kv_access.sql: who may call what.
--
-- Nothing is granted to PUBLIC. An operator grants a level to a role with kv_grant_v1, which remembers it, so that a release that
-- adds a function grants it too (kv_regrant_v1, the last thing an installation does). A level is the least it needs:
--   reader    SELECT on queen.kv; every function that reads. It may run kv_apply_v1; a write in it fails with 42501.
--   writer    reader, and INSERT, DELETE and UPDATE of everything but a row's identity; the version sequence; Once.
--   sweeper   DELETE, and SELECT of the columns that a sweep needs, which are not the values.
--   admin     writer, and the quota table.
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
    and p_level in ('reader', 'writer', 'admin', 'sweeper')
    and case
      when p.proname in ('kv_grant_v1', 'kv_regrant_v1', 'kv_level_functions_v1') then false
      when p.proname in ('kv_once_begin_v1', 'kv_once_end_v1') then p_level in ('writer', 'admin')
      when p_level = 'sweeper' then p.proname in ('kv_schema_version_v1', 'kv_limit_v1', 'kv_live_v1')
      else true
    end;
end;
comment on function queen.kv_level_functions_v1(text) is 'The functions that a level may execute.';

-- kv_grant_v1: gives a role a level, instead of the one it had, and remembers it.
--
-- Errors: kv_bad_request for a level that is none of reader, writer, sweeper, admin, none, and for PUBLIC (regrole '-'): a grant is
-- to a role that somebody answers for. Only the owner can call it. Rename a role, and it must be granted again.
create or replace function queen.kv_grant_v1(p_role regrole, p_level text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role constant name := (select r.rolname from pg_roles as r where r.oid = p_role);
  v_function regprocedure;
begin
  if v_role is null then
    perform queen.kv_refuse_v1('kv_bad_request p_role must be a role; nothing is granted to PUBLIC');
  end if;
  if p_level is null or p_level collate "C" not in ('reader', 'writer', 'sweeper', 'admin', 'none') then
    perform queen.kv_refuse_v1('kv_bad_request p_level must be one of reader, writer, sweeper, admin, none');
  end if;

  execute format('revoke all on all tables in schema queen from %I', v_role);
  execute format('revoke all on all sequences in schema queen from %I', v_role);
  execute format('revoke all on all routines in schema queen from %I', v_role);
  execute format('revoke all on schema queen from %I', v_role);
  delete from queen.kv_grant as g where g.role_name = v_role;
  if p_level = 'none' then
    return;
  end if;

  execute format('grant usage on schema queen to %I', v_role);
  for v_function in select f from queen.kv_level_functions_v1(p_level) as f loop
    execute format('grant execute on routine %s to %I', v_function, v_role);
  end loop;
  if p_level in ('reader', 'writer', 'admin') then
    execute format('grant select on queen.kv to %I', v_role);
  end if;
  if p_level in ('writer', 'admin') then
    execute format('grant insert, delete, update (value, version, expires_at, created_at, updated_at) on queen.kv to %I', v_role);
    execute format('grant usage on sequence queen.kv_version_seq to %I', v_role);
  end if;
  if p_level = 'admin' then
    execute format('grant select, insert, update, delete on queen.kv_quota to %I', v_role);
    execute format('grant select on queen.kv_usage to %I', v_role);
  end if;
  if p_level = 'sweeper' then
    execute format('grant delete, select (tenant_id, namespace, key, expires_at, shard, ctid) on queen.kv to %I', v_role);
    execute format('grant select, insert, update, delete on queen.kv_usage to %I', v_role);
  end if;
  insert into queen.kv_grant (role_name, level) values (v_role, p_level);
end;
$$;
comment on function queen.kv_grant_v1(regrole, text) is
  'Gives a role the level reader, writer, sweeper, admin or none, instead of the one it had, and remembers it.';

-- kv_regrant_v1: grants what is remembered once more, so that a function which a release added is granted too. A role that
-- is gone is skipped. Nothing is changed for a role whose level already covers everything.
create or replace function queen.kv_regrant_v1() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_grant record;
begin
  for v_grant in
    select r.oid::regrole as role, g.level
    from queen.kv_grant as g join pg_roles as r on r.rolname = g.role_name
    where exists (
      select from queen.kv_level_functions_v1(g.level) as f where not has_function_privilege(r.oid, f, 'execute'))
  loop
    perform queen.kv_grant_v1(v_grant.role, v_grant.level);
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
