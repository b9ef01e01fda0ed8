-- optional/rls.sql: row-level security. A role sees and writes the rows of the tenants that queen.kv_role_tenant gives it, through the
-- functions and in its own SQL. No part of the installation; to be run by the owner of the schema, after it:
--
--   psql -v ON_ERROR_STOP=1 --single-transaction -f sql/optional/rls.sql
--   insert into queen.kv_role_tenant values ('app_role', '7c3f1c52-51a8-4c0e-9d0b-9f3f0e5b1a77');
--
-- Run it again after kv_grant_v1 has made or unmade a sweeper or an admin: their policies name them. It keeps the tenants of the roles.
-- Who is bound: every role but the owner of the tables, superusers and BYPASSRLS. The role is current_user, so a member of
-- app_role has its tenants after SET ROLE app_role and not before. A role without a tenant sees nothing and writes nothing.
-- A view that the tables' owner made shows all rows to whoever may read it: make it WITH (security_invoker), from PostgreSQL 15 on.
--   a sweeper  sees all rows, else it would find nothing to delete and say done (kv_expire_step_v1 refuses to run then).
--   an admin   sees and sets every tenant's quota and usage; of queen.kv, like all others, the rows of its tenants.
-- What it separates is data, not availability: a role can still burn the server's time, lock the table, or learn from a
-- statement's duration. Put statement_timeout on the roles of tenants.
--
-- To undo it, nothing is lost but the list of tenants:
--
--   alter table queen.kv disable row level security;
--   alter table queen.kv_quota disable row level security;
--   alter table queen.kv_usage disable row level security;
--   drop policy kv_tenant on queen.kv; drop policy kv_tenant on queen.kv_quota; drop policy kv_tenant on queen.kv_usage;
--   drop policy if exists kv_sweeper on queen.kv; drop policy if exists kv_sweeper on queen.kv_quota;
--   drop policy if exists kv_sweeper on queen.kv_usage;
--   drop policy if exists kv_admin on queen.kv_quota; drop policy if exists kv_admin on queen.kv_usage;
--   drop table queen.kv_role_tenant;
set local search_path = pg_catalog, pg_temp;
set local lock_timeout = '900ms';
set local client_min_messages = warning;

create table if not exists queen.kv_role_tenant (
  role_name name,
  tenant_id uuid,
  constraint kv_role_tenant_pkey primary key (role_name, tenant_id)
);
comment on table queen.kv_role_tenant is 'Whose rows a role sees and writes, where sql/optional/rls.sql was run.';
revoke all on queen.kv_role_tenant from public;
alter table queen.kv_role_tenant enable row level security;

-- The tenants of the role are looked up once a statement, not once a row.
drop policy if exists kv_own on queen.kv_role_tenant;
create policy kv_own on queen.kv_role_tenant for select using (role_name = current_user);

drop policy if exists kv_tenant on queen.kv;
create policy kv_tenant on queen.kv
  using (tenant_id = any (array(select t.tenant_id from queen.kv_role_tenant as t where t.role_name = current_user)));
drop policy if exists kv_tenant on queen.kv_quota;
create policy kv_tenant on queen.kv_quota for select
  using (tenant_id = any (array(select t.tenant_id from queen.kv_role_tenant as t where t.role_name = current_user)));
drop policy if exists kv_tenant on queen.kv_usage;
create policy kv_tenant on queen.kv_usage for select
  using (tenant_id = any (array(select t.tenant_id from queen.kv_role_tenant as t where t.role_name = current_user)));

drop policy if exists kv_sweeper on queen.kv;
drop policy if exists kv_sweeper on queen.kv_quota;
drop policy if exists kv_sweeper on queen.kv_usage;
drop policy if exists kv_admin on queen.kv_quota;
drop policy if exists kv_admin on queen.kv_usage;
do $$
declare
  v_roles record;
begin
  select string_agg(format('%I', g.role_name), ', ') as all_of_them,
    string_agg(format('%I', g.role_name), ', ') filter (where g.level = 'sweeper') as sweepers,
    string_agg(format('%I', g.role_name), ', ') filter (where g.level = 'admin') as admins
  into v_roles
  from queen.kv_grant as g join pg_roles as r on r.rolname = g.role_name;
  if v_roles.all_of_them is not null then
    execute 'grant select on queen.kv_role_tenant to ' || v_roles.all_of_them; -- as kv_grant_v1 does from now on
  end if;
  if v_roles.sweepers is not null then
    execute 'create policy kv_sweeper on queen.kv to ' || v_roles.sweepers || ' using (true)';
    execute 'create policy kv_sweeper on queen.kv_quota for select to ' || v_roles.sweepers || ' using (true)';
    execute 'create policy kv_sweeper on queen.kv_usage for select to ' || v_roles.sweepers || ' using (true)';
  end if;
  if v_roles.admins is not null then
    execute 'create policy kv_admin on queen.kv_quota to ' || v_roles.admins || ' using (true)';
    execute 'create policy kv_admin on queen.kv_usage for select to ' || v_roles.admins || ' using (true)';
  end if;
end;
$$;

alter table queen.kv enable row level security;
alter table queen.kv_quota enable row level security;
alter table queen.kv_usage enable row level security;
