-- A schema to put ahead of pg_catalog: it stands in for everything there that can be stood in for.
--
-- Every function, aggregate and operator of pg_catalog is made once more, with the same arguments, and raises 'hostile'. Where
-- PL/pgSQL takes no such arguments ("any", internal, cstring) it can't be made, by an attacker neither, and is left out. The
-- types that are no keywords become domains that hold nothing, and the catalogs that are looked into become empty tables.
create schema hostile;
set search_path = pg_catalog;
set check_function_bodies = off;

do $$
declare
  v_body constant text := 'begin raise exception using message = ''hostile'', errcode = ''ZZ666''; end';
  v_name text;
  v record;
begin
  for v in
    select p.proname, pg_get_function_arguments(p.oid) as arguments, pg_get_function_result(p.oid) as result
    from pg_proc as p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f'
  loop
    begin
      execute format('create function hostile.%I(%s) returns %s language plpgsql as %L', v.proname, v.arguments, v.result, v_body);
    exception when feature_not_supported or invalid_function_definition then
    end;
  end loop;

  for v in
    select p.oid, p.proname, pg_get_function_arguments(p.oid) as arguments
    from pg_proc as p join pg_aggregate as a on a.aggfnoid = p.oid
    where p.pronamespace = 'pg_catalog'::regnamespace and a.aggkind = 'n'
  loop
    begin
      execute format('create function hostile.step_%s(%s) returns text language plpgsql as %L', v.oid,
        concat_ws(', ', 'text', nullif(v.arguments, '')), v_body);
    exception when feature_not_supported then continue;
    end;
    execute format('create aggregate hostile.%I(%s) (sfunc = hostile.step_%s, stype = text)',
      v.proname, coalesce(nullif(v.arguments, ''), '*'), v.oid);
  end loop;

  for v in
    select o.oid, o.oprname, nullif(o.oprleft, 0)::regtype as lefts, o.oprright::regtype as rights, o.oprresult::regtype as result
    from pg_operator as o
    where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprcode <> 0
  loop
    begin
      execute format('create function hostile.operator_%s(%s) returns %s language plpgsql as %L', v.oid,
        concat_ws(', ', v.lefts, v.rights), v.result, v_body);
    exception when feature_not_supported or invalid_function_definition then continue;
    end;
    execute format('create operator hostile.%s (%s, function = hostile.operator_%s)', v.oprname,
      concat_ws(', ', 'leftarg = ' || v.lefts, 'rightarg = ' || v.rights), v.oid);
  end loop;

  foreach v_name in array '{text,jsonb,uuid,timestamptz,bytea,int8,int4,int2,bool,name,oid,regrole,regprocedure,xid8}'::text[] loop
    execute format('create domain hostile.%I as pg_catalog.%1$I check (false)', v_name);
  end loop;
end;
$$;
create table hostile.pg_roles ();
create table hostile.pg_proc ();
create table hostile.kv ();
grant usage on schema hostile to public;
