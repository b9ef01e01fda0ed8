-- 000_guard.sql: what must hold before anything is made, and the settings of the installing transaction.

-- Names in the functions below are bound now: to pg_catalog, whatever the installer's path holds.
set local search_path = pg_catalog, pg_temp;
-- Nothing here waits for an application: where a lock is needed and not to be had, installing fails (55P03) and can be tried
-- again; nothing is half done, since it is one transaction.
set local lock_timeout = '900ms';
set local client_min_messages = warning;

do $$
declare
  v_version integer;
begin
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception using
      message = 'queen.kv needs a database whose encoding is UTF8; this one is ' || current_setting('server_encoding'),
      errcode = '0A000',
      hint = 'Create a database with: CREATE DATABASE name TEMPLATE template0 ENCODING ''UTF8'', and install there.';
  end if;
  if current_setting('server_version_num')::integer < 140000 then
    raise exception using
      message = 'queen.kv needs PostgreSQL 14 or newer; this is ' || current_setting('server_version'),
      errcode = '0A000';
  end if;
  if to_regprocedure('queen.kv_schema_version_v1()') is not null then
    execute 'select queen.kv_schema_version_v1()' into v_version;
    if v_version > 1 then
      raise exception using
        message = 'the schema queen is of version ' || v_version || ', newer than this installation, which is 1',
        errcode = '55000',
        hint = 'Install with the newer release; nothing was changed.';
    end if;
  end if;
  if to_regnamespace('queen') is null then
    create schema queen;
  end if;
end;
$$;
